import { topics } from '../../../identity/principal.ts';
import { dropRights, lockRights } from '../../../identity/rights-lock.ts';
import { mintKey } from '../../../identity/token-format.ts';
import { notifyDrop } from '../../../kernel/cache.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { conflict, notFound } from '../../../kernel/errors.ts';
import * as store from '../store/agents.ts';
import { type InstanceRow, instances } from '../store/instances.ts';

// Agents elsewhere, as the operator manages them.

/** The key is shown once. */
export async function createAgent(
  tx: Tx,
  { vantage, label, name }: { vantage: string; label?: string | undefined; name?: string | undefined },
) {
  if (vantage === 'local')
    conflict('local is what servers with the role prober check from themselves; give this agent’s vantage another name, such as a city');
  await store.ensureVantage(tx, vantage, label);
  const { key, hash } = mintKey('agent');
  return { key, ...(await store.insertAgent(tx, { vantage, name: name ?? vantage, hash })) };
}

/** Begins a transaction. The agent is refused from now on, its long polls end, and its monitors go to the other agents of the vantage. */
export async function revokeAgent(tx: Tx, id: string) {
  await lockRights(tx, installation, { revokes: [topics.credential(id)] });
  const revoked = (await store.revokeAgent(tx, id)) ?? notFound('agent');
  await store.dismissInstances(tx, id);
  await dropRights(tx, { drop: notifyDrop }, installation, topics.credential(id));
  return revoked;
}

/** An agent belongs to no organization. */
const installation = '';

/** Begins a transaction that accepts something from an agent. Its token cannot be revoked before the transaction ends. */
export const isAgentLive = async (tx: Tx, agentId: string | undefined): Promise<boolean> =>
  agentId === undefined || (await Promise.all([shareAgent(tx, agentId), store.isLive(tx, agentId)]))[1];

/** The same lock without the check: for callers that check for revocation in their own statement. */
export const shareAgent = async (tx: Tx, agentId: string | undefined): Promise<void> => {
  if (agentId !== undefined) await lockRights(tx, installation, { shares: [topics.credential(agentId)] });
};

export interface ListedAgent {
  /** Undefined: a server's own prober. */
  agent: store.AgentRow | undefined;
  /** Undefined: it was never seen. */
  instance: InstanceRow | undefined;
}

/** Each agent with the instances that run under its token, newest first, and the servers' own probers. */
export async function listAgents(tx: Tx): Promise<ListedAgent[]> {
  const running = await instances(tx);
  const listed: ListedAgent[] = [];
  for (const agent of await store.agents(tx)) {
    const its = running.filter((i) => i.agent_id === agent.id);
    for (const instance of its.length ? its : [undefined]) listed.push({ agent, instance });
  }
  for (const instance of running) if (instance.agent_id === null && instance.live) listed.push({ agent: undefined, instance });
  return listed;
}
