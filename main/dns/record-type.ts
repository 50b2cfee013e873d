/**
 * Mnemonics of the record types people ask for, from the IANA registry "Resource Record (RR)
 * TYPEs". Read by explain.ts; the packet path works with numbers only.
 */

const NAMES =
  'A=1 NS=2 CNAME=5 SOA=6 PTR=12 HINFO=13 MX=15 TXT=16 RP=17 AAAA=28 LOC=29 SRV=33 NAPTR=35 ' +
  'CERT=37 DNAME=39 DS=43 SSHFP=44 RRSIG=46 NSEC=47 DNSKEY=48 NSEC3=50 NSEC3PARAM=51 TLSA=52 ' +
  'SMIMEA=53 CDS=59 CDNSKEY=60 OPENPGPKEY=61 SVCB=64 HTTPS=65 SPF=99 IXFR=251 AXFR=252 ANY=255 ' +
  'URI=256 CAA=257';

/**
 * Number of a type written as a mnemonic, as TYPE123 (RFC 3597 §5) or as a number, in any case.
 *
 * @returns  0..65535, or -1 when it is none of these
 */
export function typeNumber(text: string): number {
  const name = text.toUpperCase();
  const digits = /^(?:TYPE)?(\d{1,5})$/.exec(name)?.[1];
  if (digits !== undefined) return Number(digits) <= 65_535 ? Number(digits) : -1;
  for (const pair of NAMES.split(' ')) {
    const [mnemonic, number] = pair.split('=');
    if (mnemonic === name) return Number(number);
  }
  return -1;
}
