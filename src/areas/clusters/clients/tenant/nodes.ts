import type { Ask } from '../../../../drivers/driver.ts';
import { askFor, changeObject, listAll, textOf } from './ask.ts';

/** A worker node, from its Node object. */
export interface NodeSummary {
  name: string;
  ready: boolean;
  agentVersion: string;
  addresses: string[];
  cpuMilli: number;
  memoryBytes: number;
}

/** A list field of a tenant's object, which may hold any type. */
const listOrEmpty = <T>(value: unknown): (T | null | undefined)[] => (Array.isArray(value) ? value : []);

// biome-ignore lint/suspicious/noExplicitAny: a Node of Kubernetes
const summarize = (node: any): NodeSummary => ({
  name: textOf(node?.metadata?.name),
  ready: listOrEmpty<{ type?: string; status?: string }>(node?.status?.conditions).some((c) => c?.type === 'Ready' && c.status === 'True'),
  agentVersion: textOf(node?.status?.nodeInfo?.kubeletVersion),
  addresses: listOrEmpty<{ address?: unknown }>(node?.status?.addresses).map((a) => textOf(a?.address)),
  cpuMilli: quantity(node?.status?.capacity?.cpu) * 1000,
  memoryBytes: quantity(node?.status?.capacity?.memory),
});

const units: Record<string, number> = {
  m: 1e-3,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
};

/** Parses a quantity such as `4`, `3900m` or `16Gi`; 0 for anything else. */
export function quantity(text: unknown): number {
  const m = /^(\d{1,15}(?:\.\d{1,9})?)(m|k|M|G|T|P|Ki|Mi|Gi|Ti|Pi)?$/.exec(typeof text === 'number' ? String(text) : textOf(text));
  return m ? Number(m[1]) * (m[2] ? units[m[2]]! : 1) : 0;
}

/** Sorted by name. */
export async function listNodes(ask: Ask): Promise<NodeSummary[]> {
  const nodes = (await listAll(ask, '/api/v1/nodes')).map(summarize);
  return nodes.sort((a, b) => (a.name < b.name ? -1 : 1));
}

const nodePath = (name: string) => `/api/v1/nodes/${encodeURIComponent(name)}`;

export async function findNode(ask: Ask, name: string): Promise<NodeSummary | undefined> {
  const found = await askFor(ask, 'GET', nodePath(name), undefined, [404]);
  return found && summarize(found);
}

/** Cordons the node and evicts its pods, best effort: the node is removed in any case. */
export async function drainNode(ask: Ask, name: string): Promise<void> {
  await changeObject(ask, nodePath(name), (node) => ({ ...node, spec: { ...node.spec, unschedulable: true } }));
  const { status, body } = await ask('GET', `/api/v1/pods?fieldSelector=${encodeURIComponent(`spec.nodeName=${name}`)}&limit=500`);
  if (status !== 200) return;
  for (const { metadata } of body.items ?? []) {
    const { name: pod, namespace } = metadata;
    const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: pod, namespace } };
    await ask('POST', `/api/v1/namespaces/${namespace}/pods/${pod}/eviction`, eviction);
  }
}

/** Deletes the node and its lease, with any finalizers that the node set. */
export async function removeNode(ask: Ask, name: string): Promise<void> {
  const lease = `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${encodeURIComponent(name)}`;
  for (const path of [nodePath(name), lease]) {
    await changeObject(ask, path, (object) =>
      object.metadata.finalizers?.length ? { ...object, metadata: { ...object.metadata, finalizers: [] } } : undefined,
    );
    await askFor(ask, 'DELETE', path, undefined, [404]);
  }
}
