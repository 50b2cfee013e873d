/**
 * Mnemonics of query types, from the IANA registry "Resource Record (RR) TYPEs".
 *
 * Used where a log row is shown to people: live rows and search results.
 */

const TYPE_NAMES: ReadonlyMap<number, string> = new Map([
  [1, 'A'],
  [2, 'NS'],
  [5, 'CNAME'],
  [6, 'SOA'],
  [10, 'NULL'],
  [11, 'WKS'],
  [12, 'PTR'],
  [13, 'HINFO'],
  [14, 'MINFO'],
  [15, 'MX'],
  [16, 'TXT'],
  [17, 'RP'],
  [18, 'AFSDB'],
  [24, 'SIG'],
  [25, 'KEY'],
  [28, 'AAAA'],
  [29, 'LOC'],
  [33, 'SRV'],
  [35, 'NAPTR'],
  [36, 'KX'],
  [37, 'CERT'],
  [39, 'DNAME'],
  [41, 'OPT'],
  [42, 'APL'],
  [43, 'DS'],
  [44, 'SSHFP'],
  [45, 'IPSECKEY'],
  [46, 'RRSIG'],
  [47, 'NSEC'],
  [48, 'DNSKEY'],
  [49, 'DHCID'],
  [50, 'NSEC3'],
  [51, 'NSEC3PARAM'],
  [52, 'TLSA'],
  [53, 'SMIMEA'],
  [55, 'HIP'],
  [59, 'CDS'],
  [60, 'CDNSKEY'],
  [61, 'OPENPGPKEY'],
  [62, 'CSYNC'],
  [63, 'ZONEMD'],
  [64, 'SVCB'],
  [65, 'HTTPS'],
  [99, 'SPF'],
  [108, 'EUI48'],
  [109, 'EUI64'],
  [249, 'TKEY'],
  [250, 'TSIG'],
  [251, 'IXFR'],
  [252, 'AXFR'],
  [255, 'ANY'],
  [256, 'URI'],
  [257, 'CAA'],
]);

/** The mnemonic of a type number, or TYPE123 when it has none here. RFC 3597 §5. */
export function typeName(type: number): string {
  return TYPE_NAMES.get(type) ?? `TYPE${type}`;
}
