import { Resolver } from 'node:dns/promises';
import { isIP } from 'node:net';
import type { Config } from '../../kernel/config.ts';
import { type Finding, fail, ok, warn } from './finding.ts';

/** What a name server says to a name: its addresses, that there are none, or nothing that helps. Undefined: the system's servers. */
export type DnsQuery = (server: string | undefined, name: string) => Promise<'found' | 'none' | { failure: string }>;

export const askDns: DnsQuery = async (server, name) => {
  const resolver = new Resolver({ timeout: 2_000, tries: 1 });
  try {
    if (server) resolver.setServers([server]);
    const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
    if (answers.some((a) => a.status === 'fulfilled')) return 'found';
    const codes = answers.map((a) => (a.status === 'rejected' ? String(a.reason.code) : ''));
    return codes.every((code) => ['ENOTFOUND', 'ENODATA'].includes(code))
      ? 'none'
      : { failure: codes.find((c) => !['ENOTFOUND', 'ENODATA'].includes(c))! };
  } catch (error) {
    return { failure: (error as Error).message };
  }
};

/** This name never exists (RFC 6761 6.4): the expected answer is "there is none". */
const unusedName = 'quarterdeck.invalid';

export async function checkDns(config: Config, ask: DnsQuery): Promise<Finding[]> {
  const found: Finding[] = [];
  const servers = config.dns_servers.length ? config.dns_servers : [undefined];
  const host = config.public_url ? new URL(config.public_url).hostname : '';
  const named = host !== '' && !isIP(host.replace(/^\[|\]$/g, '')) && host !== 'localhost' && !host.endsWith('.localhost');
  let known = false;
  for (const server of servers) {
    const answer = await ask(server, named ? host : unusedName);
    const who = server ? `the name server ${server}` : 'the system’s name server';
    if (typeof answer === 'object')
      found.push(
        fail(
          'dns',
          `${who} does not answer (${answer.failure}); ${server ? 'correct QUARTERDECK_DNS_SERVERS' : 'check /etc/resolv.conf, or set QUARTERDECK_DNS_SERVERS'}`,
        ),
      );
    else found.push(ok('dns', `${who} answers`));
    known ||= answer === 'found';
  }
  if (named && !known && !found.some((f) => f.verdict === 'fail'))
    found.push(warn('dns', `${host}, which QUARTERDECK_PUBLIC_URL names, has no address in the DNS; add a record, or correct the setting`));
  return found;
}
