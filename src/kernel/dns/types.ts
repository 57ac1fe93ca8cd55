/** The record types that Quarterdeck looks up. */
export type DnsType = 'A' | 'AAAA' | 'MX' | 'TXT' | 'NS' | 'CNAME' | 'TLSA' | 'PTR';

export interface DnsRecord {
  type: DnsType;
  name: string;
  ttl: number;
  /** MX: { preference, exchange }; TXT: the joined text; TLSA: { usage, selector, matchingType, certificate: Buffer }; else the name or address. */
  data: unknown;
}

export interface DnsAnswer {
  /** `nodata`: the name exists, but has no record of this type. */
  outcome: 'found' | 'nxdomain' | 'nodata' | 'servfail' | 'timeout';
  /** Records of the requested type, at the end of any CNAMEs. */
  records: DnsRecord[];
  /** The names on the CNAME chain. */
  aliases: string[];
  /** Seconds for which the answer is valid, also a negative one. */
  ttl: number;
  /** Validated by DNSSEC, by a resolver that the operator configured. */
  authentic: boolean;
  /** The server that answered. */
  server: string;
  /**
   * The caller's organization has reached its limit of queries in flight: this one was not sent, or too late. It says nothing about the
   * name.
   */
  isCrowded?: true;
}
