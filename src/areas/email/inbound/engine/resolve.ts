import type { Dns, DnsAnswer, DnsType } from '../../../../kernel/dns/index.ts';
import type { Resolve } from '../clients/reader/index.ts';

const types: ReadonlySet<string> = new Set<DnsType>(['A', 'AAAA', 'MX', 'TXT', 'NS', 'CNAME', 'PTR']);
const codes: Record<Exclude<DnsAnswer['outcome'], 'found'>, string> = {
  nxdomain: 'ENOTFOUND',
  nodata: 'ENODATA',
  servfail: 'ESERVFAIL',
  timeout: 'ETIMEOUT',
};

/** Adapts the kernel's DNS to the record shapes and error codes of Node's resolver, which the mail verifier expects. */
export const makeResolve =
  (dns: Dns): Resolve =>
  async (name, rrtype, signal) => {
    if (!types.has(rrtype)) return { code: 'ENODATA' };
    const { outcome, records } = await dns.lookup(name, rrtype as DnsType, { signal });
    if (outcome !== 'found') return { code: codes[outcome] };
    return { records: records.map(({ data }) => shapeOf(rrtype, data)) };
  };

function shapeOf(rrtype: string, data: unknown): unknown {
  if (rrtype === 'TXT') return [data];
  if (rrtype !== 'MX') return data;
  const { preference, exchange } = data as { preference: number; exchange: string };
  return { priority: preference, exchange };
}
