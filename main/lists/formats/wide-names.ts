/**
 * Names that no list may block: too much hangs below them, or they are the machine itself.
 *
 * A single label is always too wide, and is refused without this table. The suffixes here are the
 * well-known two-label ones under which strangers register names: public ones of countries, and
 * hosting companies' whose every customer would vanish. It is a guard against slips, not the Public
 * Suffix List; a user rule may still name them.
 */
import { hashName, writeName } from '../../engine/name.ts';
import { VERDICT, type Verdict } from './verdict.ts';

const COUNTRY_SUFFIXES = [
  'uk: co org me ltd plc net sch ac gov nhs police mod',
  'au: com net org edu gov id asn',
  'nz: co net org govt ac school geek gen iwi maori',
  'za: co net org gov ac web',
  'jp: co ne or ac go ad ed gr lg',
  'kr: co ne or re go ac pe',
  'in: co net org gov ac edu res firm gen ind nic',
  'br: com net org gov edu blog art eco',
  'cn: com net org gov edu ac',
  'tw: com net org gov edu idv',
  'hk: com net org gov edu idv',
  'sg: com net org gov edu per',
  'my: com net org gov edu',
  'id: co or go ac web sch my',
  'th: co or go ac in',
  'ph: com net org gov edu',
  'vn: com net org gov edu',
  'tr: com net org gov edu gen web bel k12',
  'mx: com net org gob edu',
  'ar: com net org gob edu',
  'co: com net org gov edu',
  'pe: com net org gob edu',
  've: com net org gob co',
  'ua: com net org gov edu in kiev kyiv',
  'pl: com net org gov edu info waw',
  'ru: com net org msk spb',
  'il: co net org gov ac muni',
  'sa: com net org gov edu',
  'eg: com net org gov edu',
  'ng: com net org gov edu',
  'ke: co or go ac ne',
  'pk: com net org gov edu',
  'bd: com net org gov edu',
  'es: com nom org gob edu',
  'pt: com org gov edu',
  'gr: com net org gov edu',
  'at: co or gv ac',
  'hu: co org',
  'ro: com org',
  'fr: com asso gouv',
  'it: gov edu',
  'us: ca ny tx fl',
  'com: uk us eu de cn br ru',
  'arpa: in-addr ip6 home uri urn e164',
];
const HOSTING_SUFFIXES =
  'github.io gitlab.io bitbucket.io herokuapp.com netlify.app vercel.app pages.dev workers.dev ' +
  'web.app firebaseapp.com appspot.com blogspot.com wordpress.com azurewebsites.net cloudapp.net ' +
  'azureedge.net cloudfront.net amazonaws.com akamaihd.net akamaized.net edgekey.net edgesuite.net ' +
  'fastly.net fastlylb.net googleapis.com googleusercontent.com gstatic.com cloudflare.net ' +
  'windows.net onrender.com fly.dev r2.dev';

/** Single labels that hosts files give the machine itself; told apart for the reason only. */
const LOCAL_LABELS = new Set(['localhost', 'local', 'broadcasthost', 'localhost4', 'localhost6']);
const LOCAL_NAMES = ['localhost.localdomain', 'localhost4.localdomain4', 'localhost6.localdomain6'];

interface GuardedName {
  readonly bytes: Uint8Array;
  readonly verdict: Verdict;
}
const GUARDED_NAMES: ReadonlyMap<number, GuardedName> = new Map([
  ...COUNTRY_SUFFIXES.flatMap((line) => {
    const [country, labels] = line.split(': ') as [string, string];
    return labels.split(' ').map((label) => guarded(`${label}.${country}`, VERDICT.wide));
  }),
  ...HOSTING_SUFFIXES.split(' ').map((name) => guarded(name, VERDICT.wide)),
  ...LOCAL_NAMES.map((name) => guarded(name, VERDICT.local)),
]);

/**
 * Why a list may not block a name of two labels, given as wire labels bytes[0, length) with their
 * hash; null when it may.
 */
export function guardOfPair(bytes: Uint8Array, length: number, hash: number): Verdict | null {
  const found = GUARDED_NAMES.get(hash);
  if (found?.bytes.length !== length) return null;
  return found.bytes.every((byte, at) => byte === bytes[at]) ? found.verdict : null;
}

/** Why a list may not block a single label, in lower case. */
export function guardOfLabel(label: string): Verdict {
  return LOCAL_LABELS.has(label) || label.startsWith('ip6-') ? VERDICT.local : VERDICT.wide;
}

function guarded(name: string, verdict: Verdict): [number, GuardedName] {
  const bytes = new Uint8Array(256);
  const length = writeName(name, bytes, 0);
  return [hashName(bytes, 0, length), { bytes: bytes.slice(0, length), verdict }];
}
