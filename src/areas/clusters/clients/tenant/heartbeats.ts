import type { Ask, NodeHeartbeat } from '../../../../drivers/driver.ts';
import { changeObject } from './ask.ts';

export interface Heartbeat {
  name: string;
  /** A text that changes with every heartbeat. */
  stamp: string;
  /** Whether the cluster has a Ready condition for the node that is not Unknown. */
  isKnown: boolean;
}

interface Condition {
  type: string;
  status: string;
  lastHeartbeatTime?: string;
}

export const heartbeatOf = ({ name, ready, heartbeat, renewed }: NodeHeartbeat): Heartbeat => ({
  name,
  stamp: `${renewed ?? ''} ${heartbeat ?? ''} ${ready ?? ''}`,
  isKnown: ready !== null && ready !== 'Unknown',
});

/** Sets the same condition as Kubernetes' node controller. */
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
