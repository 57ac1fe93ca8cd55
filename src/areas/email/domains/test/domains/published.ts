import type { TestContext } from 'node:test';
import { type FakeDns, fakeDns } from '../../../../../../test/fakes/dns.ts';
import { type Quarterdeck, quarterdeck, type Someone } from '../../../../../../test/harness/index.ts';
import { keepKeys } from '../../../test/kept-keys.ts';

export interface DnsRecordView {
  type: string;
  name: string;
  value: string;
  priority?: number;
}

/** A server with a public mail host and its own DNS. */
export async function withDns(
  t: TestContext,
  env: Record<string, string> = {},
  { makesKeys = false } = {},
): Promise<{ qd: Quarterdeck; dns: FakeDns }> {
  const dns = await fakeDns(t);
  const qd = await quarterdeck(t, {
    env: { QUARTERDECK_DNS_SERVERS: dns.address, QUARTERDECK_MAIL_HOST: 'mx.host.example', ...env },
  });
  if (!makesKeys) keepKeys(qd);
  return { qd, dns };
}

/** Publishes records in the test DNS. */
export function publish({ zone }: FakeDns, records: readonly DnsRecordView[]) {
  for (const { type, name, value, priority } of records) {
    const at = typeof zone[name] === 'object' ? zone[name] : {};
    zone[name] = { ...at, [type]: [type === 'MX' ? { preference: priority!, exchange: value } : value] };
  }
}

/** A domain with all records published and verified. */
export async function verifiedDomain(qd: Quarterdeck, dns: FakeDns, who: Someone, name: string) {
  const { body } = await who.post('/email/domains', { name });
  publish(dns, body.dnsRecords);
  await qd.perform({ name: 'email.check-domains' });
  return body;
}
