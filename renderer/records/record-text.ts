/** What the value of a local record looks like. */
import type { LocalRecord } from '../client/answers.ts';

export const recordExamples: Record<LocalRecord['type'], { means: string; value: string }> = {
  A: { means: 'an IPv4 address', value: '192.168.0.10' },
  AAAA: { means: 'an IPv6 address', value: 'fd00::10' },
  CNAME: { means: 'another name', value: 'nas.example' },
  TXT: { means: 'a text', value: 'v=spf1 -all' },
  MX: { means: 'preference and name', value: '10 mail.example' },
  SRV: { means: 'priority, weight, port and name', value: '0 5 443 host.example' },
  PTR: { means: 'the name of an address', value: 'nas.example' },
};
export const recordTypes = Object.keys(recordExamples) as LocalRecord['type'][];
