import { readAddress } from '../../../../kernel/guard/address.ts';
import { ipv4Text } from '../address-pool.ts';
import { podRange, serviceRange } from '../networks.ts';

// Each mesh has a /20 of the operator's range: the first address is the control plane's, the others are for nodes.

export const meshBits = 20;
const meshSize = 2 ** (32 - meshBits);
/** A metadata service of a cloud provider, inside the default range: a network with it is left out. */
const metadata = numberOf('100.100.100.200')!;

/** Undefined: it is no IPv4 address. */
function numberOf(text: string): number | undefined {
  const address = readAddress(text);
  return address?.family === 4 ? address.bytes.reduce((sum, byte) => sum * 256 + byte, 0) : undefined;
}

interface Ipv4Range {
  first: number;
  bits: number;
}

/** `100.64.0.0/10`, as a setting or a row has it. */
export function readRange(text: string): Ipv4Range {
  const [host = '', bits = ''] = text.split('/');
  return { first: numberOf(host)!, bits: Number(bits) };
}

/** The lowest network of the range that no mesh has, and that no cluster uses inside; undefined: all are taken. */
export function freeNetwork(range: string, taken: readonly string[]): string | undefined {
  const { first, bits } = readRange(range);
  const used = [...taken, podRange, serviceRange].map(readRange);
  for (let n = 0; n < 2 ** (meshBits - bits); n++) {
    const at = first + n * meshSize;
    const hasMetadata = metadata >= at && metadata < at + meshSize;
    const isUsed = used.some((each) => at < each.first + 2 ** (32 - each.bits) && each.first < at + meshSize);
    if (!isUsed && !hasMetadata) return `${ipv4Text(at)}/${meshBits}`;
  }
  return undefined;
}

export const controlPlaneAddress = (network: string): string => ipv4Text(readRange(network).first + 1);

/** The lowest address of the network that no node has; undefined: all are taken. */
export function freeAddress(network: string, taken: readonly string[]): string | undefined {
  const { first } = readRange(network);
  const used = new Set(taken.map(numberOf));
  for (let n = 2; n < meshSize - 1; n++) if (!used.has(first + n)) return ipv4Text(first + n);
  return undefined;
}

/** Whether a host is written as an address of the network. */
export function isInMesh(network: string, host: string): boolean {
  const address = numberOf(host);
  const { first } = readRange(network);
  return address !== undefined && address >= first && address < first + meshSize;
}
