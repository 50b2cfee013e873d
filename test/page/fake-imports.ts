/** Imports and backups of the fake service. */
import type { MethodOutput } from '../../main/contract/methods/methods.ts';
import { FakeRefusal, type MethodArguments } from './fake-refusal.ts';

export function fakeImport(
  name: string,
  input: MethodArguments,
  uploads: readonly string[],
): unknown {
  if (name === 'import.status') return { running: false, stage: '', elapsedMs: 0 };
  if (name === 'import.cancel') return { cancelled: false };
  if (name === 'settings.export')
    return { name: 'sluice-2026-11-03.json', text: '{"all": true}\n' };
  if ((uploads[Number(input['upload']) - 1] ?? '') === '') {
    throw new FakeRefusal('IMPORT_REFUSED', 'the file is of no known kind');
  }
  if (name === 'settings.import') {
    const protection = { state: 'on', resumesAtMs: null } as const;
    return { savedAtMs: Date.UTC(2026, 10, 3, 9, 15), lists: 4, protection };
  }
  return { ...report(), applied: name === 'import.apply' };
}

function report(): Omit<MethodOutput<'import.preview'>, 'applied'> {
  return {
    program: 'Pi-hole Teleporter archive (version 6)',
    taken: [
      {
        section: 'lists',
        count: 3,
        known: 1,
        replaced: 0,
        examples: ['https://lists.example/a.txt'],
      },
      {
        section: 'rules',
        count: 41,
        known: 0,
        replaced: 0,
        examples: ['||ads.example^', '@@||shop.example^'],
      },
      {
        section: 'records',
        count: 2,
        known: 0,
        replaced: 0,
        examples: ['nas.home.example A 192.168.1.10'],
      },
      { section: 'upstreams', count: 1, known: 0, replaced: 4, examples: ['9.9.9.9'] },
    ],
    notTaken: [
      {
        ...{ section: 'rules', why: 'a regular expression that looks behind itself', count: 2 },
        examples: ['(?<=x)ads', '(?<!y)track'],
      },
      {
        ...{ section: 'other', why: 'the addresses that it gives out (DHCP)', count: 1 },
        examples: ['dhcp.active'],
      },
    ],
  };
}
