/** Die Seite Regeln. */
import type { Texts } from '../en/index.ts';
import { wordingOf } from '../language/wording.ts';

const { number, counted } = wordingOf('de');

export const rules: Texts['rules'] = {
  title: 'Regeln',
  lead: 'Deine eigenen Regeln wirken sofort und gelten vor allen Listen.',
  yours: 'Deine Regeln',
  none: 'Noch keine Regeln',
  noneHint:
    'Füge oben eine hinzu, oder wähle Sperren oder Erlauben neben einer Anfrage in Aktivität oder Log.',
  action: 'Wirkung',
  actions: { block: 'Sperren', allow: 'Erlauben' },
  add: 'Regel hinzufügen',
  nameOrRule: 'Domain oder Regel',
  hint: {
    before: 'Eine Regel gilt für die Domain samt Subdomains. Du kannst auch',
    or: 'oder',
    after: 'eingeben.',
  },
  filter: 'Filtern',
  filterRules: 'Regeln filtern',
  count: (rules) => counted(rules, 'Regel', 'Regeln'),
  someOf: (shown, all) => `${number(shown)} von ${counted(all, 'Regel', 'Regeln')}`,
  domain: 'Domain',
  temporaryDomain: 'Domain (befristet)',
  written: 'Regel',
  other: 'Andere',
  timeLeft: 'Restzeit',
  forClient: (client) => `für ${client}`,
  remove: 'Entfernen',
  removeOne: (rule) => `${rule} entfernen`,
  removed: (rule) => `${rule} wurde entfernt.`,

  decided: {
    block: (name) => `${name} ist jetzt gesperrt.`,
    allow: (name) => `${name} ist jetzt erlaubt.`,
  },
  decidedFor: {
    block: (name, limit) => `${name} ist jetzt für ${limit} gesperrt.`,
    allow: (name, limit) => `${name} ist jetzt für ${limit} erlaubt.`,
  },

  check: {
    title: 'Name prüfen',
    lead: 'Zeigt, was Sluice mit einem Namen täte und warum. Gesendet wird erst mit „Jetzt auflösen“.',
    name: 'Name',
    type: 'Eintragstyp',
    client: 'Client (Adresse oder Name)',
    anyClient: 'jeder Client',
    run: 'Prüfen',
    answer: (text) => `Antwort: ${text}`,
    decisions: {
      blocked: 'Gesperrt',
      allowed: 'Nicht gesperrt',
      rewritten: 'Umgeleitet',
      local: 'Hier beantwortet',
      rejected: 'Abgelehnt',
    },
    minutesOf: {
      block: (minutes) => `${counted(minutes, 'Minute', 'Minuten')} sperren`,
      allow: (minutes) => `${counted(minutes, 'Minute', 'Minuten')} erlauben`,
    },
    always: { block: 'Immer sperren', allow: 'Immer erlauben' },
    clientOf: {
      block: (client) => `Für ${client} sperren`,
      allow: (client) => `Für ${client} erlauben`,
    },
    resolve: 'Jetzt auflösen',
    resolveHint: 'Sendet eine Anfrage, wie es jedes Programm täte',
    resolved: 'Gerade aufgelöst',
    by: (upstream) => `von ${upstream}`,
    took: (time, rcode) => `in ${time}: ${rcode}`,
    tookNoAnswer: (time) => `in ${time}, keine Antwort`,
    chain: 'Ziele der Antwort',
    matches: 'Passende Regeln',
    rule: 'Regel',
    place: 'Quelle',
    effect: 'Geltung',
    does: { block: 'Sperrt', allow: 'Erlaubt', redirect: 'Leitet um' },
    decides: 'entscheidet',
    notApplicable: 'gilt nicht',
    important: 'wichtig',
    temporaryRule: 'Befristete Regel',
    ownRule: (position) => `Deine Regeln, Nr. ${number(position)}`,
    groupRule: (group, position) => `Gruppe ${group}, Nr. ${number(position)}`,
    policy: (name) => `Richtlinie ${name}`,
    listLine: (list, line) => `${list}, Zeile ${number(line)}`,
    steps: 'Schritt für Schritt',
    settles: 'hier entschieden',
  },
};
