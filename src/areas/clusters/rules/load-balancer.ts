import { BlockList } from 'node:net';
import { readAddress } from '../../../kernel/guard/address.ts';
import type { ProxyProtocol } from './proxy-header.ts';

/** `spec.loadBalancerClass` of this load balancer; a Service without a class is its too. Other classes belong to other controllers. */
export const ownClass = 'quarterdeck/managed';
export const proxyProtocolAnnotation = 'quarterdeck/proxy-protocol';

const limits = { ports: 16, sourceRanges: 100, nodes: 32 };
/** The apiserver's default range. Other ports of a node's address may belong to another program, so none is dialed. */
const nodePorts = { first: 30_000, last: 32_767 };

/** A port of the address, and the port of the nodes behind it. */
export interface BalancedPort {
  port: number;
  nodePort: number;
}

/** A Service of type LoadBalancer, as it is to be served. */
export interface BalancedService {
  uid: string;
  namespace: string;
  name: string;
  createdAt: string;
  ports: BalancedPort[];
  /** Connections go only to nodes with endpoints of the Service. */
  isLocal: boolean;
  /** Empty: every client may connect. */
  sourceRanges: string[];
  proxyProtocol: ProxyProtocol | undefined;
  wantedAddress: string | undefined;
  /** As in its status. */
  shownAddresses: string[];
}

export interface ServiceRefusal {
  reason: string;
  message: string;
}

export type ReadService = { service: BalancedService; refusal?: ServiceRefusal };

const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
const text = (value: unknown): string => (typeof value === 'string' ? value : '');
const isPort = (value: unknown): value is number => Number.isInteger(value) && (value as number) >= 1 && (value as number) <= 65_535;
const objectName = /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/;

/** Undefined: the Service is none of ours, or is being deleted. A `refusal` is told in an Event, and the Service stays pending. */
// biome-ignore lint/suspicious/noExplicitAny: a Service of Kubernetes, whose fields may hold any type
export function readService(object: any): ReadService | undefined {
  const { metadata, spec, status } = object ?? {};
  const [uid, namespace, name] = [text(metadata?.uid), text(metadata?.namespace), text(metadata?.name)];
  if (spec?.type !== 'LoadBalancer' || metadata?.deletionTimestamp || uid === '' || uid.length > 128) return undefined;
  if (!objectName.test(namespace) || !objectName.test(name)) return undefined;
  const itsClass = text(spec.loadBalancerClass);
  if (itsClass !== '' && itsClass !== ownClass) return undefined;
  const ports = list(spec.ports).slice(0, limits.ports + 1) as { protocol?: unknown; port?: unknown; nodePort?: unknown }[];
  const protocol = text(metadata.annotations?.[proxyProtocolAnnotation]);
  const service: BalancedService = {
    uid,
    namespace,
    name,
    createdAt: text(metadata.creationTimestamp).slice(0, 40),
    ports: ports.flatMap((each) => (isPort(each?.port) && isPort(each.nodePort) ? [{ port: each.port, nodePort: each.nodePort }] : [])),
    isLocal: spec.externalTrafficPolicy === 'Local',
    sourceRanges: list(spec.loadBalancerSourceRanges)
      .slice(0, limits.sourceRanges + 1)
      .map(text),
    proxyProtocol: protocol === 'v1' || protocol === 'v2' ? protocol : undefined,
    wantedAddress: text(spec.loadBalancerIP) || undefined,
    shownAddresses: list(status?.loadBalancer?.ingress)
      .slice(0, 10)
      .map((each) => text((each as { ip?: unknown } | null)?.ip)),
  };
  const refusal = refuseService(service, ports, protocol);
  return { service, ...(refusal ? { refusal } : {}) };
}

function refuseService(
  { ports: usable, sourceRanges, wantedAddress }: BalancedService,
  ports: readonly { protocol?: unknown }[],
  protocol: string,
): ServiceRefusal | undefined {
  const invalid = (message: string) => ({ reason: 'LoadBalancerInvalid', message });
  const other = ports.map((each) => text(each?.protocol) || 'TCP').find((each) => each !== 'TCP');
  if (other)
    return {
      reason: 'UnsupportedProtocol',
      message: `managed load balancers carry TCP, and a port of this Service is ${other.slice(0, 20)}; use a Service of TCP ports alone`,
    };
  if (ports.length > limits.ports) return invalid(`more than ${limits.ports} ports; use several Services`);
  if (ports.length === 0) return invalid('the Service has no ports; add one');
  if (usable.length < ports.length || usable.some(({ nodePort }) => nodePort < nodePorts.first || nodePort > nodePorts.last))
    return invalid(
      `every port needs a node port between ${nodePorts.first} and ${nodePorts.last}; leave allocateLoadBalancerNodePorts at true`,
    );
  if (sourceRanges.length > limits.sourceRanges) return invalid(`more than ${limits.sourceRanges} loadBalancerSourceRanges; join some`);
  const badRange = sourceRanges.find((range) => !readRange(range));
  if (badRange !== undefined)
    return invalid(`loadBalancerSourceRanges: "${badRange.slice(0, 60)}" is no network; write it like 203.0.113.0/24`);
  if (wantedAddress !== undefined && readAddress(wantedAddress)?.family !== 4)
    return invalid(`loadBalancerIP: "${wantedAddress.slice(0, 60)}" is no IPv4 address; leave it out to get a free one`);
  if (protocol !== '' && protocol !== 'v1' && protocol !== 'v2')
    return invalid(`the annotation ${proxyProtocolAnnotation} is "${protocol.slice(0, 20)}"; it may be v1 or v2`);
  return undefined;
}

function readRange(range: string): { address: string; bits: number; family: 'ipv4' | 'ipv6' } | undefined {
  const [, host = '', bits = ''] = /^([0-9a-fA-F.:]{2,45})\/(\d{1,3})$/.exec(range.trim()) ?? [];
  const address = readAddress(host);
  if (!address || address.bytes.length !== (host.includes(':') ? 16 : 4)) return undefined;
  if (Number(bits) > address.bytes.length * 8) return undefined;
  return { address: address.text, bits: Number(bits), family: address.family === 4 ? 'ipv4' : 'ipv6' };
}

/** Whether a client may connect. */
export function makeSourceFilter(ranges: readonly string[]): (client: string) => boolean {
  if (ranges.length === 0) return () => true;
  const allowed = new BlockList();
  for (const range of ranges) {
    const read = readRange(range);
    if (read) allowed.addSubnet(read.address, read.bits, read.family);
  }
  return (client) => {
    const address = readAddress(client);
    return address !== null && allowed.check(address.text, address.family === 4 ? 'ipv4' : 'ipv6');
  };
}

/** Which Services have an address, and which may get one: those that have one keep it, then the oldest, up to the tier's number. */
export function chooseServices<T extends Pick<BalancedService, 'uid' | 'createdAt'>>(
  services: readonly T[],
  holding: ReadonlySet<string>,
  maxServices: number,
): { served: T[]; beyond: T[] } {
  const rank = ({ uid }: T) => (holding.has(uid) ? 0 : 1);
  const sorted = [...services].sort((a, b) => rank(a) - rank(b) || compare(a.createdAt, b.createdAt) || compare(a.uid, b.uid));
  return { served: sorted.slice(0, maxServices), beyond: sorted.slice(maxServices) };
}

const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);

export interface BalancedNode {
  name: string;
  address: string;
}

/** A node, as far as its traffic goes. */
export interface NodeState {
  name: string;
  ready: boolean;
  /** It is leaving: kubeadm's and the cloud providers' label, or a taint of the cluster autoscaler. */
  isExcluded: boolean;
  address: string | undefined;
}

/** Labels by which nodes opt out of load balancers. */
const exclusionLabel = 'node.kubernetes.io/exclude-from-external-load-balancers';

// biome-ignore lint/suspicious/noExplicitAny: a Node of Kubernetes, whose fields may hold any type
export function readNode(node: any): NodeState {
  const conditions = list(node?.status?.conditions) as { type?: unknown; status?: unknown }[];
  const addresses = (list(node?.status?.addresses) as { type?: unknown; address?: unknown }[]).filter(Boolean);
  const ofType = (type: string) => addresses.find((each) => each.type === type && readAddress(text(each.address)));
  const labels = node?.metadata?.labels;
  return {
    name: text(node?.metadata?.name),
    ready: conditions.some((each) => each?.type === 'Ready' && each.status === 'True'),
    isExcluded: labels !== null && typeof labels === 'object' && Object.hasOwn(labels, exclusionLabel),
    address: text((ofType('InternalIP') ?? ofType('ExternalIP'))?.address) || undefined,
  };
}

/** Nodes with an endpoint that takes connections, from the EndpointSlices of one Service. */
export function nodesOfSlices(slices: readonly unknown[]): Set<string> {
  const names = new Set<string>();
  // biome-ignore lint/suspicious/noExplicitAny: EndpointSlices of Kubernetes
  for (const slice of slices as any[])
    for (const each of list(slice?.endpoints) as { nodeName?: unknown; conditions?: { ready?: unknown } }[])
      if (each?.conditions?.ready !== false && text(each?.nodeName) !== '') names.add(text(each.nodeName));
  return names;
}

/** The nodes that get a Service's connections: at most 32, the same ones at every server, spread over the nodes by the Service's uid. */
export function targetsOf(uid: string, nodes: readonly NodeState[], local: ReadonlySet<string> | undefined): BalancedNode[] {
  const usable = nodes.flatMap(({ name, ready, isExcluded, address }) =>
    ready && !isExcluded && address !== undefined && (!local || local.has(name)) ? [{ name, address }] : [],
  );
  if (usable.length <= limits.nodes) return usable;
  return usable
    .map((node) => ({ node, weight: weightOf(`${uid} ${node.name}`) }))
    .sort((a, b) => a.weight - b.weight || compare(a.node.name, b.node.name))
    .slice(0, limits.nodes)
    .map(({ node }) => node);
}

/** FNV-1a. */
function weightOf(key: string): number {
  let hash = 0x811c9dc5;
  for (let n = 0; n < key.length; n++) hash = Math.imul(hash ^ key.charCodeAt(n), 0x01000193);
  return hash >>> 0;
}
