import { type AddressClass, classOf, readAddress } from '../../../kernel/guard/address.ts';
import { podRange, serviceRange } from './networks.ts';

/** The longest list of addresses that one network adds. */
export const maxPoolAddresses = 4_096;
export const maxPools = 64;

/** Classes of addresses that a router may carry to a machine. Loopback only where the operator says so. */
const routable: ReadonlySet<AddressClass | null> = new Set<AddressClass | null>([
  null,
  'private',
  'carrier-grade NAT',
  'documentation',
  'benchmarking',
]);

interface Ipv4Network {
  first: number;
  count: number;
}

const toNumber = (bytes: readonly number[]): number => bytes.reduce((sum, byte) => sum * 256 + byte, 0);
export const ipv4Text = (value: number): string => [24, 16, 8, 0].map((shift) => Math.floor(value / 2 ** shift) % 256).join('.');

/** The network, or a sentence that refuses it. */
function parseIpv4Network(text: string): Ipv4Network | string {
  const [, host = '', bits = ''] = /^([0-9.]+)\/(\d{1,2})$/.exec(text) ?? [];
  const address = readAddress(host);
  if (text.includes(':')) return `${text} is IPv6; load balancers have IPv4 addresses, written like 198.51.100.0/28`;
  if (!address || Number(bits) > 32) return `${text} is not a network; write it like 198.51.100.0/28, or 198.51.100.7/32 for one address`;
  const count = 2 ** (32 - Number(bits));
  const first = toNumber(address.bytes);
  if (first % count !== 0)
    return `${text} has bits set after its prefix; write ${ipv4Text(first - (first % count))}/${bits}, or ${host}/32`;
  return { first, count };
}

const overlap = (a: Ipv4Network, b: Ipv4Network) => a.first < b.first + b.count && b.first < a.first + a.count;

interface PoolRequest {
  /** The addresses of this machine's interfaces. */
  own: readonly string[];
  /** The operator wants addresses of 127.0.0.0/8, which only this machine reaches. */
  isLoopbackAllowed: boolean;
}

/** Why a network cannot be added to the pool, as a sentence; undefined: it can. */
export function refusePool(text: string, { own, isLoopbackAllowed }: PoolRequest): string | undefined {
  const network = parseIpv4Network(text);
  if (typeof network === 'string') return network;
  if (network.count > maxPoolAddresses)
    return `${text} has ${network.count} addresses; add networks of at most ${maxPoolAddresses} (a /20)`;
  for (const range of [serviceRange, podRange])
    if (overlap(network, parseIpv4Network(range) as Ipv4Network))
      return `${text} overlaps ${range}, which every cluster uses inside; choose another network`;
  for (let n = 0; n < network.count; n++) {
    const address = ipv4Text(network.first + n);
    const name = classOf(readAddress(address)!);
    if (name === 'loopback' && !isLoopbackAllowed)
      return `${text} is loopback, which only this machine reaches; for a trial on this machine add it with --loopback`;
    if (name !== 'loopback' && !routable.has(name))
      return `${text} holds ${address}, which is no unicast address for services (${name}); choose a network that is routed to this machine`;
    if (own.includes(address))
      return `${text} holds ${address}, an address of this machine’s own interfaces; add only addresses that nothing else uses, and make them local by a route (ip route add local ${text} dev lo)`;
  }
  return undefined;
}
