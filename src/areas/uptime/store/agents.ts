import Type, { type Static } from 'typebox';
import { row, rows, run, type Tx } from '../../../kernel/db/index.ts';
import { assignmentsChannel } from './monitor-row.ts';

const AgentRow = Type.Object({
  id: Type.String(),
  vantage: Type.String(),
  name: Type.String(),
  created_at: Type.String(),
  revoked_at: Type.Union([Type.String(), Type.Null()]),
});
export type AgentRow = Static<typeof AgentRow>;

export const agentByHash = (tx: Tx, hash: Buffer) => row(tx, AgentRow)`
  select id, vantage, name, created_at, revoked_at from uptime.agent where hash = ${hash}`;

export const agents = (tx: Tx) => rows(tx, AgentRow)`
  select id, vantage, name, created_at, revoked_at from uptime.agent where revoked_at is null order by vantage, id`;

/** Makes the vantage with its first agent; a label given later renames it. */
export const ensureVantage = (tx: Tx, id: string, label: string | undefined) => run(tx)`
  insert into uptime.vantage as v (id, label, created_at) values (${id}, ${label ?? id}, kernel.now())
  on conflict (id) do update set label = coalesce(${label ?? null}, v.label)`;

export const insertAgent = async (tx: Tx, made: { vantage: string; name: string; hash: Buffer }): Promise<AgentRow> =>
  (await row(tx, AgentRow)`
    insert into uptime.agent (id, vantage, name, hash, created_at)
    values (kernel.new_id('agt'), ${made.vantage}, ${made.name}, ${made.hash}, kernel.now()) returning id, vantage, name, created_at, revoked_at`)!;

export const isLive = async (tx: Tx, id: string): Promise<boolean> =>
  (await run(tx)`select from uptime.agent where id = ${id} and revoked_at is null`) > 0;

/** Undefined: unknown, or revoked before. */
export const revokeAgent = (tx: Tx, id: string) => row(tx, AgentRow)`
  update uptime.agent set revoked_at = kernel.now() where id = ${id} and revoked_at is null
  returning id, vantage, name, created_at, revoked_at`;

/** Expires the agent's instances: the other probers of the vantage take over at once. */
export const dismissInstances = (tx: Tx, agentId: string) => run(tx)`
  with told as materialized (select pg_notify(${assignmentsChannel}, ''))
  update uptime.instance set seen_at = seen_at - interval '1 day' from told where agent_id = ${agentId}`;
