import Type, { type Static } from 'typebox';
import { row, run, type Tx } from '../../../kernel/db/index.ts';
import { sql } from '../../../kernel/sql.ts';
import { HttpTarget, TcpTarget } from '../../../protocols/agent.ts';
import type { PublicTarget } from '../rules/masked-target.ts';

/** What of a target is not sealed. Rows of an earlier release hold all of it until they are sealed. */
export const PublicTargetRow = Type.Union([
  Type.Pick(HttpTarget, ['url', 'method', 'followRedirects', 'expectStatus']),
  Type.Pick(TcpTarget, ['host', 'port', 'tls']),
]);

/**
 * A server of an earlier release hands this to its probers as it is. They take no list for headers or for what is sent, and leave the
 * monitor to others, instead of checking it without its credentials and expectations: an up of theirs would end a real alert.
 */
export const storedTarget = (shown: PublicTarget): string =>
  JSON.stringify('url' in shown ? { ...shown, headers: [] } : { ...shown, sendBase64: [] });

/** The whole target is sealed, for those who need more of it than `target` shows; null: see above. */
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

/** In order of commit: from here to the end of the transaction nobody else changes what probers must know. Tells the servers. */
export const nextRevision = async (tx: Tx): Promise<number> => {
  await run(tx)`select pg_advisory_xact_lock(hashtext('uptime.revision')), pg_notify(${assignmentsChannel}, '')`;
  return (await row(tx, Type.Object({ revision: Type.Integer() }))`select nextval('uptime.revision') as revision`)!.revision;
};
