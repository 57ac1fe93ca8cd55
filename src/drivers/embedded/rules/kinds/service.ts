import { isIPv4 } from 'node:net';
import { type Cause, invalidValue, requiredValue } from '../../../status.ts';
import type { Json, KubeObject } from '../object.ts';
import { textOf } from '../object.ts';

/** kubeadm's default range; the first address belongs to the API itself. */
export const serviceAddresses = { range: '10.96.0.0/12', first: 0x0a600000, size: 1_048_575 };
export const nodePorts = { first: 30_000, last: 32_767 };

export const addressAt = (n: number): string => {
  const value = serviceAddresses.first + n;
  return [24, 16, 8, 0].map((shift) => (value >>> shift) & 255).join('.');
};

export const isServiceAddress = (text: string): boolean => {
  if (!isIPv4(text)) return false;
  const value = text.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);
  return value > serviceAddresses.first && value < serviceAddresses.first + serviceAddresses.size;
};

const types = ['ClusterIP', 'NodePort', 'LoadBalancer', 'ExternalName'];

interface Port extends Json {
  name?: string;
  protocol?: string;
  port?: number;
  targetPort?: number | string;
  nodePort?: number;
}

export function prepareService(service: KubeObject, before: KubeObject | undefined): void {
  service.spec ??= {};
  const { spec } = service;
  spec['type'] ??= 'ClusterIP';
  spec['sessionAffinity'] ??= 'None';
  if (spec['type'] !== 'ExternalName') {
    // `kubectl apply` sends the applied fields only, without the allocated address.
    if (before && !spec['clusterIP'] && before.spec?.['clusterIP']) spec['clusterIP'] = before.spec['clusterIP'];
    spec['ipFamilies'] ??= ['IPv4'];
    spec['ipFamilyPolicy'] ??= 'SingleStack';
    spec['internalTrafficPolicy'] ??= 'Cluster';
  }
  const isOutward = spec['type'] === 'NodePort' || spec['type'] === 'LoadBalancer';
  if (isOutward) spec['externalTrafficPolicy'] ??= 'Cluster';
  if (spec['type'] === 'LoadBalancer') spec['allocateLoadBalancerNodePorts'] ??= true;
  const previousPorts = (before?.spec?.['ports'] ?? []) as Port[];
  for (const port of (spec['ports'] ?? []) as Port[]) {
    port.protocol ??= 'TCP';
    port.targetPort ??= port.port ?? 0;
    const previousPort = previousPorts.find((one) => one.port === port.port && one.protocol === port.protocol);
    if (isOutward && port.nodePort === undefined && previousPort?.nodePort) port.nodePort = previousPort.nodePort;
    if (!isOutward) delete port.nodePort;
  }
  service.status ??= { loadBalancer: {} };
}

export function validateService({ spec = {} }: KubeObject): Cause[] {
  const causes: Cause[] = [];
  const type = textOf(spec['type']);
  if (!types.includes(type)) causes.push(invalidValue('spec.type', type, `supported values: ${types.map((one) => `"${one}"`).join(', ')}`));
  const ports = (spec['ports'] ?? []) as Port[];
  if (ports.length === 0 && type !== 'ExternalName' && spec['clusterIP'] !== 'None') causes.push(requiredValue('spec.ports'));
  if (ports.length > 250) causes.push(invalidValue('spec.ports', ports.length, 'must have at most 250 items'));
  if (type === 'ExternalName' && !spec['externalName']) causes.push(requiredValue('spec.externalName'));
  const seen = new Set<string>();
  ports.slice(0, 250).forEach((port, at) => {
    for (const cause of validatePort(port, `spec.ports[${at}]`)) causes.push(cause);
    const key = `${port.protocol} ${port.port}`;
    if (seen.has(key)) causes.push({ reason: 'FieldValueDuplicate', field: `spec.ports[${at}]`, message: `Duplicate value: ${key}` });
    seen.add(key);
    if (ports.length > 1 && !port.name) causes.push(requiredValue(`spec.ports[${at}].name`));
  });
  return causes;
}

function validatePort({ port = 0, nodePort, protocol, targetPort = 0 }: Port, path: string): Cause[] {
  const causes: Cause[] = [];
  const isPort = (value: number) => value >= 1 && value <= 65_535;
  if (!isPort(port)) causes.push(invalidValue(`${path}.port`, port, 'must be between 1 and 65535, inclusive'));
  if (typeof targetPort === 'number' && !isPort(targetPort))
    causes.push(invalidValue(`${path}.targetPort`, targetPort, 'must be between 1 and 65535, inclusive'));
  if (nodePort !== undefined && (nodePort < nodePorts.first || nodePort > nodePorts.last))
    causes.push(
      invalidValue(
        `${path}.nodePort`,
        nodePort,
        `provided port is not in the valid range. The range of valid ports is ${nodePorts.first}-${nodePorts.last}`,
      ),
    );
  if (!['TCP', 'UDP', 'SCTP'].includes(protocol ?? ''))
    causes.push(invalidValue(`${path}.protocol`, protocol, 'supported values: "SCTP", "TCP", "UDP"'));
  return causes;
}
