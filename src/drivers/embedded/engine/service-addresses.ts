import { randomInt } from 'node:crypto';
import type { Tx } from '../../../kernel/db/index.ts';
import { invalidError, invalidValue } from '../../status.ts';
import { addressAt, isServiceAddress, nodePorts, serviceAddresses } from '../rules/kinds/service.ts';
import type { Json, KubeObject } from '../rules/object.ts';
import { textOf } from '../rules/object.ts';
import { deleteObject, putObject, readObject } from '../store/objects.ts';
import type { Cluster } from './cluster.ts';

// Allocates addresses and node ports of services. Each allocation is a row beside the objects, under a resource name that no kind has. The
// row's key makes the allocation unique and is found by index, regardless of the number of services.

const addressResource = '~address';
const portResource = '~nodeport';
const maxAttempts = 32;

const allocationKey = (resource: string, name: string) => ({ resource, namespace: '', name });

async function reserve(tx: Tx, cluster: Cluster, resource: string, name: string): Promise<boolean> {
  if (await readObject(tx, cluster, allocationKey(resource, name))) return false;
  await putObject(tx, cluster, {
    ...allocationKey(resource, name),
    version: 0,
    uid: '',
    bytes: 0,
    deleting: false,
    owners: [],
    body: '',
  });
  return true;
}

/** Allocates missing addresses and ports of a service; a requested address or port is kept if it is free. */
export async function allocateAddresses(tx: Tx, cluster: Cluster, service: KubeObject, before: KubeObject | undefined): Promise<void> {
  service.spec ??= {};
  const { spec } = service;
  const previous = before?.spec ?? {};
  const type = textOf(spec['type']);
  if (type === 'ExternalName') {
    delete spec['clusterIP'];
    delete spec['clusterIPs'];
  } else if (spec['clusterIP'] !== 'None' && textOf(spec['clusterIP']) !== textOf(previous['clusterIP']))
    await allocateAddress(tx, cluster, service, spec);
  else if (!spec['clusterIP']) await allocateAddress(tx, cluster, service, spec);
  if (spec['clusterIP']) spec['clusterIPs'] = [spec['clusterIP']];
  if (type === 'NodePort' || type === 'LoadBalancer') await allocatePorts(tx, cluster, service, portsOf(previous));
  await releaseUnused(tx, cluster, previous, spec);
}

const portsOf = (spec: Json): { nodePort?: number }[] => (spec['ports'] ?? []) as { nodePort?: number }[];
const portNumbers = (spec: Json) => portsOf(spec).flatMap(({ nodePort }) => (nodePort ? [String(nodePort)] : []));

async function allocateAddress(tx: Tx, cluster: Cluster, service: KubeObject, spec: Json): Promise<void> {
  const requested = textOf(spec['clusterIP']);
  if (requested) {
    if (isServiceAddress(requested) && (await reserve(tx, cluster, addressResource, requested))) return;
    throw refuse(
      service,
      'spec.clusterIPs',
      requested,
      isServiceAddress(requested)
        ? 'provided IP is already allocated'
        : `the provided IP is not in the valid range ${serviceAddresses.range}`,
    );
  }
  for (let n = 0; n < maxAttempts; n++) {
    const address = addressAt(randomInt(2, serviceAddresses.size));
    if (!(await reserve(tx, cluster, addressResource, address))) continue;
    spec['clusterIP'] = address;
    return;
  }
  throw refuse(service, 'spec.clusterIPs', [], 'no address is free; delete services first');
}

async function allocatePorts(tx: Tx, cluster: Cluster, service: KubeObject, previous: { nodePort?: number }[]): Promise<void> {
  const previousPorts = new Set(previous.map(({ nodePort }) => nodePort));
  for (const port of portsOf(service.spec!)) {
    if (port.nodePort !== undefined) {
      if (previousPorts.has(port.nodePort) || (await reserve(tx, cluster, portResource, String(port.nodePort)))) continue;
      throw refuse(service, 'spec.ports[].nodePort', port.nodePort, 'provided port is already allocated');
    }
    for (let n = 0; n < maxAttempts && port.nodePort === undefined; n++) {
      const number = randomInt(nodePorts.first, nodePorts.last + 1);
      if (await reserve(tx, cluster, portResource, String(number))) port.nodePort = number;
    }
    if (port.nodePort === undefined) throw refuse(service, 'spec.ports[].nodePort', '', 'no port is free; delete services first');
  }
}

const refuse = ({ metadata: { name } }: KubeObject, field: string, value: unknown, why: string) =>
  invalidError('Service', { group: '', plural: 'services' }, name, [invalidValue(field, value, why)]);

async function releaseUnused(tx: Tx, cluster: Cluster, previous: Json, current: Json): Promise<void> {
  const address = textOf(previous['clusterIP']);
  if (address && address !== 'None' && address !== current['clusterIP'])
    await deleteObject(tx, cluster.id, allocationKey(addressResource, address));
  const currentPorts = new Set(portNumbers(current));
  for (const port of portNumbers(previous))
    if (!currentPorts.has(port)) await deleteObject(tx, cluster.id, allocationKey(portResource, port));
}

export async function releaseAddresses(tx: Tx, cluster: Cluster, { kind, spec = {} }: KubeObject): Promise<void> {
  if (kind === 'Service') await releaseUnused(tx, cluster, spec, {});
}
