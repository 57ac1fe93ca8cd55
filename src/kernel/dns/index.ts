/** What the DNS says of one name and type. */
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
  /** Of the type that was asked for, behind whatever CNAMEs led there. */
  records: DnsRecord[];
  /** Names that CNAMEs led through. */
  aliases: string[];
  /** Seconds for which it may be believed, also that there is nothing. */
  ttl: number;
  /** The resolver vouches for it by DNSSEC, and is one that the operator configured. */
  authentic: boolean;
  /** Which server answered. */
  server: string;
}

/** Asks the DNS. Throws nothing but what `signal` is aborted with: whatever goes wrong is an outcome. */
export interface Dns {
  lookup(name: string, type: DnsType, options?: { signal?: AbortSignal }): Promise<DnsAnswer>;
  /** The same, at the name servers of the zone itself, so that nobody waits for a cache; through the resolver where they do not answer. */
  lookupAtSource(name: string, type: DnsType, options?: { signal?: AbortSignal }): Promise<DnsAnswer>;
}
