import { type Ask, changeObject, listAll } from './ask.ts';

export interface Heartbeat {
  name: string;
  /** Whatever changes with every sign of life. */
  said: string;
  /** Whether the cluster believes that it knows how the node is. */
  isKnown: boolean;
}

interface Condition {
  type: string;
  status: string;
  lastHeartbeatTime?: string;
}

const readyOf = (node: { status?: { conditions?: Condition[] } }): Condition | undefined =>
  (node.status?.conditions ?? []).find(({ type }) => type === 'Ready');

export async function listHeartbeats(ask: Ask): Promise<Heartbeat[]> {
  const [nodes, leases] = await Promise.all([
    listAll(ask, '/api/v1/nodes'),
    listAll(ask, '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases'),
  ]);
  const renewed = new Map(leases.map(({ metadata, spec }) => [metadata.name, String(spec?.renewTime ?? '')]));
  return nodes.map((node) => {
    const ready = readyOf(node);
    return {
      name: node.metadata.name,
      said: `${renewed.get(node.metadata.name) ?? ''} ${ready?.lastHeartbeatTime ?? ''} ${ready?.status ?? ''}`,
      isKnown: ready !== undefined && ready.status !== 'Unknown',
    };
  });
}

/** In the words of Kubernetes' own controller. */
export async function markSilent(ask: Ask, name: string, at: Date): Promise<void> {
  const unknown = { status: 'Unknown', reason: 'NodeStatusUnknown', message: 'Kubelet stopped posting node status.' };
  const time = `${at.toISOString().slice(0, 19)}Z`;
  await changeObject(
    ask,
    `/api/v1/nodes/${encodeURIComponent(name)}`,
    (node) => {
      const conditions = (node.status?.conditions ?? []) as Condition[];
      const changed = conditions.map((each) => (each.type === 'Ready' ? { ...each, ...unknown, lastTransitionTime: time } : each));
      return { ...node, status: { ...node.status, conditions: changed } };
    },
    'status',
  );
}
