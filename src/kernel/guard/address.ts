import { isIPv4, isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';
import { LRUCache } from 'lru-cache';
import { boundedTo } from '../bounded-map.ts';

/** An address in its canonical form: the checked text is the text that is connected to. */
export interface Address {
  readonly text: string;
  readonly family: 4 | 6;
  readonly bytes: readonly number[];
}

export interface Network {
  readonly address: Address;
  readonly bits: number;
}

const fromBytes = (bytes: number[]): Address => {
  const ip = ipaddr.fromByteArray(bytes);
  return { text: ip.toString(), family: ip.kind() === 'ipv4' ? 4 : 6, bytes: Object.freeze(bytes) };
};

const ipv4In = (address: Address, at: number, flip = 0) => fromBytes(address.bytes.slice(at, at + 4).map((byte) => byte ^ flip));

/**
 * Parses a complete address as the socket layer would (inet_pton), or returns null. Lax forms (octal, short forms, zone ids) are rejected
 * here. host.ts converts the unambiguous ones first. An IPv4-mapped address becomes the IPv4 address, because the operating system would
 * connect to that.
 */
export function readAddress(text: string): Address | null {
  const known = knownAddresses.get(text);
  if (known) return known;
  const address = parse(text);
  if (address) knownAddresses.set(text, address);
  return address;
}

/** The same few addresses are read again at each connection to them. */
const knownAddresses = new LRUCache<string, Address>(boundedTo(1_000));

function parse(text: string): Address | null {
  if (isIPv4(text)) return fromBytes(text.split('.').map(Number));
  if (!isIPv6(text) || text.includes('%')) return null;
  // Through URL first: ipaddr.js parses the dotted tail of `::127.0.0.1` as if it were mapped, which it is not.
  const hexadecimal = new URL(`http://[${text}]/`).hostname.slice(1, -1);
  const address = fromBytes(ipaddr.IPv6.parse(hexadecimal).toByteArray());
  return isInNetwork(address, mapped) ? ipv4In(address, 12) : address;
}

export function isInNetwork(address: Address, network: Network): boolean {
  if (address.family !== network.address.family) return false;
  for (let at = 0, left = network.bits; left > 0; at++, left -= 8) {
    const ignored = Math.max(0, 8 - left);
    if (address.bytes[at]! >> ignored !== network.address.bytes[at]! >> ignored) return false;
  }
  return true;
}

/** For the networks written in this module. The operator's networks go through allow.ts, which explains mistakes. */
const network = (cidr: string): Network => {
  const [text, bits] = cidr.split('/') as [string, string];
  return { address: fromBytes(ipaddr.parse(text).toByteArray()), bits: Number(bits) };
};
const networks = (...cidrs: string[]) => cidrs.map(network);

const mapped = network('::ffff:0:0/96');
const globalUnicast = network('2000::/3');

/** In order: an address has the first class that contains it. The sources are the IANA special-purpose registries. */
const classes = {
  // 169.254.169.254 and its relatives: AWS, ECS, EKS, Tencent, Scaleway, Alibaba, Azure, Oracle, Google, OpenStack.
  metadata: networks(
    ...['169.254.169.254/32', '169.254.170.2/32', '169.254.170.23/32', '169.254.0.23/32', '169.254.42.42/32', '100.100.100.200/32'],
    ...['168.63.129.16/32', '192.0.0.192/32', 'fd00:ec2::254/128', 'fd00:ec2::23/128', 'fd00:c1::a9fe:a9fe/128', 'fd20:ce::254/128'],
    ...['fd00:42::42/128', 'fe80::a9fe:a9fe/128'],
  ),
  unspecified: networks('0.0.0.0/8', '::/128'),
  loopback: networks('127.0.0.0/8', '::1/128'),
  private: networks('10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16'),
  'link-local': networks('169.254.0.0/16', 'fe80::/10'),
  'carrier-grade NAT': networks('100.64.0.0/10'),
  'unique-local': networks('fc00::/7'),
  'site-local': networks('fec0::/10'),
  multicast: networks('224.0.0.0/4', 'ff00::/8'),
  broadcast: networks('255.255.255.255/32'),
  documentation: networks('192.0.2.0/24', '198.51.100.0/24', '203.0.113.0/24', '2001:db8::/32', '3fff::/20'),
  benchmarking: networks('198.18.0.0/15', '2001:2::/48'),
  NAT64: networks('64:ff9b::/96', '64:ff9b:1::/48'),
  '6to4': networks('2002::/16', '192.88.99.0/24'),
  Teredo: networks('2001::/32'),
  'IPv4-translated': networks('::ffff:0:0:0/96'),
  'IPv4-compatible': networks('::/96'),
  ORCHID: networks('2001:10::/28', '2001:20::/28'),
  discard: networks('100::/64'),
  'special-purpose': networks(
    ...['192.0.0.0/24', '192.31.196.0/24', '192.52.193.0/24', '192.175.48.0/24', '240.0.0.0/4', '2001::/23', '2620:4f:8000::/48'],
    '3ffe::/16',
  ),
} as const satisfies Record<string, Network[]>;

export type AddressClass = keyof typeof classes | 'ISATAP' | 'unassigned';

const orderedClasses = Object.entries(classes) as [AddressClass, Network[]][];

/** RFC 5214 6.1: `…:0:5efe:a.b.c.d` names an IPv4 host at the end of a tunnel, under any prefix. */
const isIsatap = ({ family, bytes }: Address) =>
  family === 6 && (bytes[8]! & 0xfd) === 0 && bytes[9] === 0 && bytes[10] === 0x5e && bytes[11] === 0xfe;

/**
 * Why an address is not on the public internet; null if it is. Unassigned ranges are refused too, so the list above need not be complete.
 */
export function classOf(address: Address): AddressClass | null {
  const known = knownClasses.get(address);
  if (known !== undefined) return known;
  const name = findClass(address);
  knownClasses.set(address, name);
  return name;
}

const knownClasses = new WeakMap<Address, AddressClass | null>();

function findClass(address: Address): AddressClass | null {
  for (const [name, members] of orderedClasses) if (members.some((member) => isInNetwork(address, member))) return name;
  if (isIsatap(address)) return 'ISATAP';
  if (address.family === 6 && !isInNetwork(address, globalUnicast)) return 'unassigned';
  // A second opinion: a range missing above would have to be missing there too.
  return ipaddr.fromByteArray([...address.bytes]).range() === 'unicast' ? null : 'special-purpose';
}

const localNat64 = network('64:ff9b:1::/48');

/**
 * RFC 6052 2.2: under a prefix of 48 bits the address is in bytes 6, 7, 9 and 10. An operator of the local-use prefix may also put it at
 * the end, as under 96 bits. The two cannot be told apart from outside, so both are checked.
 */
function embeddedByNat64(address: Address): Address[] {
  const { bytes } = address;
  const inMiddle = fromBytes([bytes[6]!, bytes[7]!, bytes[9]!, bytes[10]!]);
  const written = [inMiddle, ipv4In(address, 12)].filter((inner) => inner.bytes.some((byte) => byte !== 0));
  return written.length ? written : [inMiddle];
}

/** The IPv4 addresses to which a transition mechanism would forward packets for this IPv6 address. */
export function embeddedIn(address: Address, name: AddressClass): Address[] {
  if (address.family === 4) return [];
  if (name === 'NAT64' && isInNetwork(address, localNat64)) return embeddedByNat64(address);
  if (name === '6to4') return [ipv4In(address, 2)];
  // RFC 4380 4: the server in the clear, the client with its bits flipped.
  if (name === 'Teredo') return [ipv4In(address, 4), ipv4In(address, 12, 0xff)];
  return name === 'NAT64' || name === 'IPv4-translated' || name === 'IPv4-compatible' || name === 'ISATAP' ? [ipv4In(address, 12)] : [];
}
