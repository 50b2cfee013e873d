/** What the value of a local record looks like. */
import type { LocalRecord } from '../client/answers.ts';

export const recordExamples: Record<LocalRecord['type'], string> = {
  A: '192.168.0.10',
  AAAA: 'fd00::10',
  CNAME: 'nas.example',
  TXT: 'v=spf1 -all',
  MX: '10 mail.example',
  SRV: '0 5 443 host.example',
  PTR: 'nas.example',
};
export const recordTypes = Object.keys(recordExamples) as LocalRecord['type'][];
