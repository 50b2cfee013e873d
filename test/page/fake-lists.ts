/** Made-up lists of the fake service, and a short catalogue. */
import type { ListStatus, MethodOutput } from '../../main/contract/methods/methods.ts';

type Known = Omit<MethodOutput<'catalogue.list'>['lists'][number], 'added'>;

/** A list that was never fetched. */
export function newList(name: string, url: string): ListStatus {
  return {
    ...{ name, url, format: 'auto', enabled: true, names: 0 },
    ...{ lines: 0, rules: 0, comments: 0, ignored: [] },
    ...{ updatedAtMs: null, checkedAtMs: null, state: 'waiting', error: '' },
    ...{ change: null, quarantine: null, generations: [], rolledBack: false },
  };
}

/** One that is well, one whose new version waits, one that fails, one that is off. */
export function fakeLists(nowMs: number): ListStatus[] {
  return [
    stevenBlack(nowMs),
    waiting(nowMs),
    {
      ...newList('Tracker domains', 'https://trackers.example/domains.txt'),
      names: 8_312,
      updatedAtMs: nowMs - 26 * 3_600_000,
      checkedAtMs: nowMs - 5 * 60_000,
      state: 'failed',
      error: 'the address serves a web page (HTML), not a list',
    },
    {
      ...newList('Family', 'file:///etc/sluice/family.txt'),
      format: 'domains',
      enabled: false,
      state: 'disabled',
    },
  ];
}

function stevenBlack(nowMs: number): ListStatus {
  const updatedAtMs = nowMs - 3 * 3_600_000;
  return {
    ...newList('StevenBlack', 'https://lists.example/hosts'),
    format: 'hosts',
    names: 141_204,
    ...{ lines: 141_534, rules: 141_390, comments: 99 },
    ignored: [
      {
        reason: 'not a host name',
        lines: 31,
        examples: ['0.0.0.0 _dmarc', '0.0.0.0 -bad-.example'],
      },
      { reason: 'local names such as localhost', lines: 14, examples: ['127.0.0.1 localhost'] },
    ],
    updatedAtMs,
    checkedAtMs: nowMs - 20 * 60_000,
    state: 'ok',
    change: {
      atMs: updatedAtMs,
      added: 1_204,
      removed: 88,
      replay: {
        ...{ names: 2_310, used: 2_052, newlyBlocked: 2, newlyAllowed: 1 },
        blockedExamples: ['beacon.shop.example', 'stats.news.example'],
        allowedExamples: ['login.bank.example'],
      },
    },
    generations: [copy(true, updatedAtMs, 141_390), copy(false, nowMs - 75 * 3_600_000, 140_274)],
  };
}

function waiting(nowMs: number): ListStatus {
  return {
    ...newList('Everything and more', 'https://large.example/adblock.txt'),
    format: 'adblock',
    names: 402_118,
    updatedAtMs: nowMs - 50 * 3_600_000,
    checkedAtMs: nowMs - 2 * 3_600_000,
    state: 'ok',
    quarantine: {
      kind: 'replay',
      reason:
        'it would newly block 14 names you used, for example www.shop.example, ' +
        'api.weather.example, login.school.example',
      fetchedAtMs: nowMs - 2 * 3_600_000,
      bytes: 9_840_212,
      acceptable: true,
    },
    generations: [copy(true, nowMs - 50 * 3_600_000, 402_118)],
  };
}

function copy(inUse: boolean, fetchedAtMs: number, names: number) {
  return { inUse, fetchedAtMs, names, bytes: names * 27, sha256: String(fetchedAtMs) };
}

/** Lists of a few categories; the first one is in use. */
export function fakeCatalogue(): Known[] {
  const list = (
    id: string,
    name: string,
    category: Known['category'],
    size: Known['size'],
    purpose: string,
  ): Known => ({
    ...{ id, name, category, size, purpose, format: 'adblock', licence: 'GPL-3.0', alias: [] },
    maintainer: `The makers of ${name}`,
    homepage: `https://example.org/${id}`,
    url: id === 'steven' ? 'https://lists.example/hosts' : `https://lists.example/${id}.txt`,
  });
  return [
    list('steven', 'StevenBlack', 'general', 'large', 'Ads and malware, from several hosts files.'),
    list('light', 'Light', 'general', 'medium', 'Ads and trackers; few names, little breaks.'),
    list('tv', 'Smart TV', 'devices', 'small', 'Telemetry of televisions.'),
    list('threat', 'Threats', 'malware', 'huge', 'Names that spread malware, renewed every day.'),
    list('dice', 'No gambling', 'gambling', 'medium', 'Casinos and betting.'),
  ];
}
