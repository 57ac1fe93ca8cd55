import Type, { type Static } from 'typebox';
import { row, run, type Tx } from '../../../kernel/db/index.ts';
import { sql } from '../../../kernel/sql.ts';
import { HttpTarget, TcpTarget } from '../../../protocols/agent.ts';
import type { PublicTarget } from '../rules/masked-target.ts';

/** The unsealed part of a target. Rows of an earlier release hold the whole target until they are sealed. */
export const PublicTargetRow = Type.Union([
  Type.Pick(HttpTarget, ['url', 'method', 'followRedirects', 'expectStatus']),
  Type.Pick(TcpTarget, ['host', 'port', 'tls']),
]);

/**
 * A server of an earlier release sends this to its probers as it is. They reject a list for headers or for the bytes to send, and leave the
 * monitor to other probers. Checking it without its credentials and expectations could end a real alert.
 */
export const storedTarget = (shown: PublicTarget): string =>
  JSON.stringify('url' in shown ? { ...shown, headers: [] } : { ...shown, sendBase64: [] });

/** The whole target, sealed; null: an earlier release wrote the row. */
export const Sealed = Type.Union([Type.Unsafe<Buffer>({}), Type.Null()]);
export const SealedTargetRow = Type.Object({ id: Type.String(), target: PublicTargetRow, sealed: Sealed });

export const MonitorRow = Type.Object({
  org_id: Type.String(),
  id: Type.String(),
  no: Type.Integer(),
  name: Type.String(),
  service_id: Type.Union([Type.String(), Type.Null()]),
  enabled: Type.Boolean(),
  kind: Type.Union([Type.Literal('http'), Type.Literal('tcp')]),
  target: PublicTargetRow,
  interval_seconds: Type.Integer(),
  timeout_ms: Type.Integer(),
  vantages: Type.Array(Type.String()),
  confirmations: Type.Integer(),
  quorum: Type.Integer(),
  revision: Type.Integer(),
  epoch: Type.Integer(),
  created_at: Type.String(),
  updated_at: Type.String(),
});
export type MonitorRow = Static<typeof MonitorRow>;

export const monitorColumns = sql`m.org_id, m.id, m.no, m.name, m.service_id, m.enabled, m.kind, m.target, m.interval_seconds, m.timeout_ms,
  m.vantages, m.confirmations, m.quorum, m.revision, m.epoch, m.created_at, m.updated_at`;

/** The channel on which servers hear that there is something new for probers. */
export const assignmentsChannel = 'qd_uptime';

/** Revisions are in order of commit: until this transaction ends no other may change what probers must know. Notifies the servers. */
export const nextRevision = async (tx: Tx): Promise<number> => {
  await run(tx)`select pg_advisory_xact_lock(hashtext('uptime.revision')), pg_notify(${assignmentsChannel}, '')`;
  return (await row(tx, Type.Object({ revision: Type.Integer() }))`select nextval('uptime.revision') as revision`)!.revision;
};
