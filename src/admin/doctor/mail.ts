import ipaddr from 'ipaddr.js';
import { findMailHostTrouble, mailHostOf } from '../../areas/email/index.ts';
import type { Config } from '../../kernel/config.ts';
import { type Dns, makeDns } from '../../kernel/dns/index.ts';
import { type Finding, ok, warn } from './finding.ts';

/** Whether other mail servers can know this one: records of domains name it, greetings do, and many ask who its address belongs to. */
export async function checkMailHost(config: Config, dns: Dns = makeDns({ servers: config.dns_servers })): Promise<Finding[]> {
  const why = findMailHostTrouble({ config });
  if (why !== undefined) return [warn('mail host', why)];
  const host = mailHostOf({ config });
  const answers = await Promise.all([dns.lookup(host, 'A'), dns.lookup(host, 'AAAA')]);
  const addresses = answers.flatMap(({ records }) => records.map(({ data }) => String(data)));
  if (answers.some(({ outcome }) => outcome === 'servfail' || outcome === 'timeout') && addresses.length === 0)
    return [warn('mail host', `the DNS does not answer what ${host} is; look again, or correct QUARTERDECK_DNS_SERVERS`)];
  if (addresses.length === 0)
    return [
      warn(
        'mail host',
        `${host} has no address in the DNS: MX records that name it lead nowhere; publish one, or set QUARTERDECK_MAIL_HOST`,
      ),
    ];
  const alias = answers.flatMap(({ aliases }) => aliases)[0];
  const named = alias
    ? warn(
        'mail host',
        `${host} is an alias (CNAME ${alias}), and MX records must not name one (RFC 2181, 10.3); give it an address of its own`,
      )
    : ok('mail host', `${host} has an address that MX records can lead to`);
  return [named, ...(await Promise.all(addresses.slice(0, 4).map((address) => checkReverse(dns, host, address))))];
}

/** Large providers refuse mail from addresses that do not name their host back. */
async function checkReverse(dns: Dns, host: string, address: string): Promise<Finding> {
  const { outcome, records } = await dns.lookup(reverseName(address), 'PTR');
  const names = records.map(({ data }) => String(data).toLowerCase().replace(/\.$/, ''));
  if (names.includes(host)) return ok('mail host', `${address} names ${host} back (PTR)`);
  if (outcome === 'servfail' || outcome === 'timeout') return warn('mail host', `the DNS does not answer what ${address} is called (PTR)`);
  const found = names.length ? `is called ${names.slice(0, 3).join(', ')}` : 'has no name';
  return warn(
    'mail host',
    `${address} ${found} in the DNS (PTR), and many servers refuse its mail; the provider of the address can set it to ${host}`,
  );
}

function reverseName(address: string): string {
  const parsed = ipaddr.process(address);
  if (parsed instanceof ipaddr.IPv6) {
    const digits = parsed.parts.map((part) => part.toString(16).padStart(4, '0')).join('');
    return `${[...digits].reverse().join('.')}.ip6.arpa`;
  }
  return `${parsed.octets.toReversed().join('.')}.in-addr.arpa`;
}
