import type { Address } from './address.ts';
import type { Allow } from './allow.ts';
import { unlessAborted } from './deadline.ts';
import { decide } from './decide.ts';
import { blockedAddress, GuardFailure, GuardRefusal } from './errors.ts';
import { type Host, isLocalhost } from './host.ts';
import type { Resolver } from './resolver.ts';

export interface AddressPolicy {
  readonly allow: Allow;
  readonly resolver: Resolver;
  readonly allowPort: (use: string, port: number, host: string) => boolean;
}

/** Every refusal that needs no DNS lookup. */
export function checkBeforeLookup(policy: AddressPolicy, use: string, host: Host, port: number): void {
  if (host.literal !== null) allowedAddress(policy, use, host, host.literal.text);
  else if (isLocalhost(host.name)) localhostAddresses(policy, use, host);
  if (!policy.allowPort(use, port, host.name)) throw new GuardRefusal('port', `port ${port} may not be reached by ${use}; use another one`);
}

/**
 * The allowed addresses of this host, resolved once. One forbidden answer refuses the whole host: an honest name does not mix public and
 * private addresses, and a dishonest one must not choose which of them is tried.
 */
export async function resolveAllowed(policy: AddressPolicy, use: string, host: Host, signal: AbortSignal): Promise<Address[]> {
  if (host.literal !== null) return [allowedAddress(policy, use, host, host.literal.text)];
  if (isLocalhost(host.name)) return localhostAddresses(policy, use, host);

  const answers = await unlessAborted(signal, () => policy.resolver.resolve(host.name, { signal }));
  if (answers.length === 0) throw new GuardFailure('dns_not_found', 'resolve', `${host.name} has no address in the DNS`);
  return alternating(answers.map(({ address }) => allowedAddress(policy, use, host, address)));
}

export function allowedAddress({ allow }: AddressPolicy, use: string, host: Host, text: string): Address {
  const verdict = decide(allow, use, text);
  if (verdict.allowed) return verdict.address;
  throw blockedAddress(use, host.name, host.literal !== null, verdict.class);
}

/** These two answers are our own, so an operator who opened 127.0.0.0/8 alone need not list ::1. */
function localhostAddresses({ allow }: AddressPolicy, use: string, host: Host): Address[] {
  const open = ['127.0.0.1', '::1'].flatMap((text) => {
    const verdict = decide(allow, use, text);
    return verdict.allowed ? [verdict.address] : [];
  });
  if (open.length === 0) throw blockedAddress(use, host.name, false, 'loopback');
  return open;
}

/** The number of addresses tried. All are checked, but a name with hundreds of dead addresses must not take all the time. */
const maxTried = 4;

/** IPv4 first, then alternating (RFC 8305 4, the other way round): on small servers a broken IPv6 is the commoner of the two. */
function alternating(addresses: Address[]): Address[] {
  const v4 = addresses.filter(({ family }) => family === 4);
  const v6 = addresses.filter(({ family }) => family === 6);
  const longer = Math.max(v4.length, v6.length);
  return Array.from({ length: longer }, (_, at) => [v4[at], v6[at]].filter((address) => address !== undefined))
    .flat()
    .slice(0, maxTried);
}
