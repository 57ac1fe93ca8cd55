import type { Json, KubeObject } from './object.ts';
import { textOf, textsOf } from './object.ts';
import type { Resource } from './resources.ts';

// The output of `kubectl get`: the columns of each kind, and the row of an object.

export interface Column {
  name: string;
  type: string;
  format: string;
  description: string;
  priority: number;
}

type Cell = (object: KubeObject, now: string) => unknown;
type Columns = readonly [heading: string, cell: Cell, type?: string][];

const list = (value: unknown): Json[] => (Array.isArray(value) ? (value as Json[]) : []);
const size = (value: unknown) => Object.keys((value ?? {}) as Json).length;
const orPlaceholder = (text: string, instead = '<none>') => (text === '' ? instead : text);

/** Ages as kubectl prints them: 5d, 3h12m, 45s. */
export function formatAge(since: string | undefined, now: string): string {
  if (!since) return '<unknown>';
  const seconds = Math.max(0, Math.floor((Date.parse(now) - Date.parse(since)) / 1000));
  const [minutes, hours, days] = [Math.floor(seconds / 60), Math.floor(seconds / 3_600), Math.floor(seconds / 86_400)];
  if (seconds < 120) return `${seconds}s`;
  if (minutes < 10) return `${minutes}m${seconds % 60 ? `${seconds % 60}s` : ''}`;
  if (minutes < 180) return `${minutes}m`;
  if (hours < 8) return `${hours}h${minutes % 60 ? `${minutes % 60}m` : ''}`;
  if (hours < 48) return `${hours}h`;
  if (days < 8) return `${days}d${hours % 24 ? `${hours % 24}h` : ''}`;
  return days < 730 ? `${days}d` : `${Math.floor(days / 365)}y`;
}

const name: Columns[number] = ['Name', ({ metadata }) => metadata.name];
const age: Columns[number] = ['Age', ({ metadata }, now) => formatAge(metadata.creationTimestamp, now)];

function formatNodeStatus({ status = {}, spec = {} }: KubeObject): string {
  const ready = list(status['conditions']).find((one) => one['type'] === 'Ready');
  const words = [ready ? (ready['status'] === 'True' ? 'Ready' : 'NotReady') : 'Unknown'];
  if (spec['unschedulable'] === true) words.push('SchedulingDisabled');
  return words.join(',');
}

const roleLabel = 'node-role.kubernetes.io/';
const formatNodeRoles = ({ metadata: { labels = {} } }: KubeObject) =>
  orPlaceholder(
    Object.keys(labels)
      .flatMap((label) => (label.startsWith(roleLabel) && label.length > roleLabel.length ? [label.slice(roleLabel.length)] : []))
      .sort()
      .join(','),
  );

const infoOf = ({ status = {} }: KubeObject) => (status['nodeInfo'] ?? {}) as Record<string, string>;
const addressOf = ({ status = {} }: KubeObject, type: string) =>
  orPlaceholder(textOf(list(status['addresses']).find((one) => one['type'] === type)?.['address']));

function formatPorts({ spec = {} }: KubeObject): string {
  const ports = list(spec['ports']).map(({ port, nodePort, protocol }) => `${port}${nodePort ? `:${nodePort}` : ''}/${protocol}`);
  return orPlaceholder(ports.join(','));
}

function formatExternalAddresses({ spec = {}, status = {} }: KubeObject): string {
  const ingress = list((status['loadBalancer'] as Json | undefined)?.['ingress']).map(
    (one) => textOf(one['ip']) || textOf(one['hostname']),
  );
  const all = [...(spec['type'] === 'ExternalName' ? [textOf(spec['externalName'])] : ingress), ...textsOf(spec['externalIPs'])].filter(
    Boolean,
  );
  return orPlaceholder(all.join(','), spec['type'] === 'LoadBalancer' ? '<pending>' : '<none>');
}

function formatCondition({ status = {} }: KubeObject): string {
  const types = new Set(list(status['conditions']).map((one) => textOf(one['type'])));
  const word = types.has('Denied') ? 'Denied' : types.has('Approved') ? 'Approved' : 'Pending';
  return [word, ...(types.has('Failed') ? ['Failed'] : []), ...(status['certificate'] ? ['Issued'] : [])].join(',');
}

const formatRoleRef = (object: KubeObject) => {
  const { kind, name: role } = (object['roleRef'] ?? {}) as { kind?: string; name?: string };
  return `${kind}/${role}`;
};

const formatEndpoints = (object: KubeObject) => {
  const found = list(object['subsets']).flatMap((subset) =>
    list(subset['addresses']).flatMap(({ ip }) =>
      list(subset['ports']).length ? list(subset['ports']).map(({ port }) => `${ip}:${port}`) : [String(ip)],
    ),
  );
  return orPlaceholder(found.slice(0, 3).join(',') + (found.length > 3 ? ` + ${found.length - 3} more...` : ''));
};

const lastSeen: Cell = (object, now) =>
  formatAge(textOf(object['lastTimestamp'] ?? object['deprecatedLastTimestamp'] ?? object['eventTime']), now);
const involvedObject: Cell = (object) => {
  const { kind = '', name: about = '' } = (object['involvedObject'] ?? object['regarding'] ?? {}) as Record<string, string>;
  return `${kind.toLowerCase()}/${about}`;
};

const kinds: Readonly<Record<string, Columns>> = {
  ConfigMap: [name, ['Data', (o) => size(o['data']) + size(o['binaryData']), 'integer'], age],
  Secret: [name, ['Type', (o) => o['type']], ['Data', (o) => size(o['data']), 'integer'], age],
  Namespace: [name, ['Status', ({ status }) => status?.['phase'] ?? ''], age],
  Node: [
    name,
    ['Status', formatNodeStatus],
    ['Roles', formatNodeRoles],
    age,
    ['Version', (o) => infoOf(o)['kubeletVersion'] ?? ''],
    ['Internal-IP', (o) => addressOf(o, 'InternalIP')],
    ['External-IP', (o) => addressOf(o, 'ExternalIP')],
    ['OS-Image', (o) => infoOf(o)['osImage'] ?? '<unknown>'],
    ['Kernel-Version', (o) => infoOf(o)['kernelVersion'] ?? '<unknown>'],
    ['Container-Runtime', (o) => infoOf(o)['containerRuntimeVersion'] ?? '<unknown>'],
  ],
  Service: [
    name,
    ['Type', ({ spec }) => spec?.['type']],
    ['Cluster-IP', ({ spec }) => orPlaceholder(textOf(spec?.['clusterIP']))],
    ['External-IP', formatExternalAddresses],
    ['Port(s)', formatPorts],
    age,
  ],
  Endpoints: [name, ['Endpoints', formatEndpoints], age],
  EndpointSlice: [
    name,
    ['AddressType', (o) => o['addressType']],
    [
      'Ports',
      (o) =>
        orPlaceholder(
          list(o['ports'])
            .map(({ port }) => String(port ?? '*'))
            .join(','),
          '<unset>',
        ),
    ],
    [
      'Endpoints',
      (o) =>
        orPlaceholder(
          list(o['endpoints'])
            .flatMap((one) => textsOf(one['addresses']))
            .slice(0, 3)
            .join(','),
          '<unset>',
        ),
    ],
    age,
  ],
  ServiceAccount: [name, ['Secrets', (o) => list(o['secrets']).length, 'integer'], age],
  Lease: [name, ['Holder', ({ spec }) => textOf(spec?.['holderIdentity'])], age],
  CertificateSigningRequest: [
    name,
    age,
    ['SignerName', ({ spec }) => spec?.['signerName']],
    ['Requestor', ({ spec }) => textOf(spec?.['username'])],
    [
      'RequestedDuration',
      ({ spec }) => (typeof spec?.['expirationSeconds'] === 'number' ? formatDuration(spec['expirationSeconds']) : '<none>'),
    ],
    ['Condition', formatCondition],
  ],
  Role: [name, ['Created At', ({ metadata }) => metadata.creationTimestamp]],
  ClusterRole: [name, ['Created At', ({ metadata }) => metadata.creationTimestamp]],
  RoleBinding: [name, ['Role', formatRoleRef], age],
  ClusterRoleBinding: [name, ['Role', formatRoleRef], age],
  CSINode: [name, ['Drivers', ({ spec }) => list(spec?.['drivers']).length, 'integer'], age],
  Event: [
    ['Last Seen', lastSeen],
    ['Type', (o) => textOf(o['type'])],
    ['Reason', (o) => textOf(o['reason'])],
    ['Object', involvedObject],
    ['Message', (o) => textOf(o['message'] ?? o['note']).trim()],
  ],
};

const formatDuration = (seconds: number) => formatAge('1970-01-01T00:00:00Z', new Date(Math.min(seconds, 1e10) * 1000).toISOString());

const defaultColumns: Columns = [name, age];
const columnsFor = (kind: string): Columns => kinds[kind] ?? defaultColumns;
/** Shown only with -o wide. */
const wideColumns = new Set(['Internal-IP', 'External-IP', 'OS-Image', 'Kernel-Version', 'Container-Runtime']);

export const columnsOf = ({ kind }: Resource): Column[] =>
  columnsFor(kind).map(([heading, , type = 'string']) => ({
    name: heading,
    type,
    format: heading === 'Name' ? 'name' : '',
    description: heading,
    priority: kind === 'Node' && wideColumns.has(heading) ? 1 : 0,
  }));

export const rowOf = (object: KubeObject, now: string): unknown[] => columnsFor(object.kind).map(([, cell]) => cell(object, now) ?? '');
