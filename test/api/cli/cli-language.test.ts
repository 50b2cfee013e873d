/** The language of the command line: by the terminal's locale, and nothing else of it changes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { terminalLanguage } from '../../../main/api/cli/language.ts';
import { protectionText, upstreamsText } from '../../../main/api/cli/text.ts';
import { takeoverText } from '../../../main/api/cli/takeover.ts';

test('LC_ALL goes before LC_MESSAGES, that before LANG; C, POSIX and unknown ones are English', () => {
  const cases = [
    [{}, 'en'],
    [{ LANG: 'de_DE.UTF-8' }, 'de'],
    [{ LANG: 'de_DE.UTF-8', LC_ALL: '' }, 'de'],
    [{ LANG: 'en_GB.UTF-8', LC_MESSAGES: 'de_AT' }, 'de'],
    [{ LANG: 'de_DE.UTF-8', LC_MESSAGES: 'de_DE', LC_ALL: 'C' }, 'en'],
    [{ LANG: 'C.UTF-8' }, 'en'],
    [{ LANG: 'POSIX' }, 'en'],
    [{ LANG: 'fr_FR.UTF-8' }, 'en'],
    [{ LANG: 'den_CA.UTF-8' }, 'en'],
    [{ LC_TIME: 'de_DE.UTF-8' }, 'en'],
  ] as const;
  for (const [environment, language] of cases) {
    assert.equal(terminalLanguage(environment), language, JSON.stringify(environment));
  }
});

test('in a German terminal, texts and numbers are German', (t) => {
  const before = process.env['LC_ALL'];
  t.after(() => {
    if (before === undefined) delete process.env['LC_ALL'];
    else process.env['LC_ALL'] = before;
  });
  process.env['LC_ALL'] = 'de_DE.UTF-8';
  assert.equal(protectionText({ state: 'on', resumesAtMs: null }), 'an');
  assert.equal(
    takeoverText({
      ...{ state: 'on', reason: '', owner: 'systemd-resolved', covered: ['wlan0'] },
      portal: { phase: 'clear', endsAtMs: null },
    }),
    'an: dieser Computer verwendet Sluice: wlan0 über systemd-resolved',
  );
  const upstream = {
    ...{ upstream: '9.9.9.9', protocol: 'udp', state: 'up', roundTripUs: 12_345 },
    ...{ answered: 1_234, failures: 0, trouble: '', askedWithout: '' },
  };
  const output = { strategy: 'in-order', upstreams: [upstream] } as unknown;
  assert.match(
    upstreamsText(output as Parameters<typeof upstreamsText>[0]),
    /^Upstream +Protokoll +Zustand [^]*\n9\.9\.9\.9 +udp +erreichbar +12,3 ms +1\.234 +0\nStrategie in-order$/,
  );
});
