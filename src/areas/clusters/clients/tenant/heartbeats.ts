import { type Ask, changeObject } from './ask.ts';

export interface Heartbeat {
  name: string;
  /** Whatever changes with every sign of life. */
  stamp: string;
  /** Whether the cluster believes that it knows how the node is. */
  isKnown: boolean;
}

interface Condition {
  type: string;
  status: string;
  lastHeartbeatTime?: string;
}

/** A node's signs of life, as its cluster keeps them. */
export interface NodeHeartbeat {
  name: string;
  /** Of the condition Ready: its status and time. */
  ready: string | null;
  heartbeat: string | null;
  /** Of the lease. */
  renewed: string | null;
}

export const heartbeatOf = ({ name, ready, heartbeat, renewed }: NodeHeartbeat): Heartbeat => ({
  name,
  stamp: `${renewed ?? ''} ${heartbeat ?? ''} ${ready ?? ''}`,
  isKnown: ready !== null && ready !== 'Unknown',
});

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
