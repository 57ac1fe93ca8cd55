import { type Address, type AddressClass, classOf, embeddedIn, isInNetwork, readAddress } from './address.ts';
import { type Allow, allowedNetworks } from './allow.ts';
import type { RefusedClass } from './errors.ts';

export type Verdict = { readonly allowed: true; readonly address: Address } | { readonly allowed: false; readonly class: RefusedClass };

/** No list opens these: no service listens there, and Linux connects 0.0.0.0 to itself. */
const neverAllowed: ReadonlySet<AddressClass> = new Set(['unspecified', 'multicast', 'broadcast']);

/** Whether this use may connect to this address. Pure: the result depends on the arguments only. */
export function decide(allow: Allow, use: string, text: string): Verdict {
  const address = readAddress(text);
  return address === null ? { allowed: false, class: 'unreadable' } : judge(allow, use, address);
}

export function judge(allow: Allow, use: string, address: Address): Verdict {
  const found = classOf(address);
  if (allow.only && !allow.only.some((network) => isInNetwork(address, network))) return { allowed: false, class: found ?? 'outside' };
  if (found === null) return { allowed: true, address };
  if (neverAllowed.has(found)) return { allowed: false, class: found };

  // An operator who opens 10.0.0.0/8 or ::/0 means hosts, not the cloud's credentials. A metadata service is opened only by its full
  // address.
  const opens = allowedNetworks(allow, use).some(
    (network) => isInNetwork(address, network) && (found !== 'metadata' || network.bits === address.bytes.length * 8),
  );
  if (!opens) return { allowed: false, class: found };

  // An operator behind DNS64 opens 64:ff9b::/96 to reach IPv4 at all; that must not open loopback behind the translator.
  for (const inner of embeddedIn(address, found)) {
    const verdict = judge(allow, use, inner);
    if (!verdict.allowed) return verdict;
  }
  return { allowed: true, address };
}
