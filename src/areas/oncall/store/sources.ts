import Type, { type Static } from 'typebox';
import { row, rows, run, type Tx } from '../../../kernel/db/index.ts';
import { isVisible, sql, type Visible } from '../../../kernel/sql.ts';
import { deliveryLock } from './alerts.ts';

const SourceRow = Type.Object({
  id: Type.String(),
  name: Type.String(),
  service_id: Type.String(),
  created_at: Type.String(),
  last_event_at: Type.Union([Type.String(), Type.Null()]),
  problem: Type.Union([Type.String(), Type.Null()]),
  problem_at: Type.Union([Type.String(), Type.Null()]),
  rejected: Type.Integer(),
});
export type SourceRow = Static<typeof SourceRow>;

const columns = sql`id, name, service_id, created_at, last_event_at, problem, problem_at, rejected`;

export const sourcesOf = (tx: Tx, org: string, visible: Visible) => rows(tx, SourceRow)`
  select ${columns} from oncall.alert_source
   where org_id = ${org} and revoked_at is null and ${isVisible(visible, sql`service_id`)} order by id desc`;

export const insertSource = async (tx: Tx, org: string, made: { name: string; serviceId: string; hash: Buffer }): Promise<SourceRow> =>
  (await row(tx, SourceRow)`
    insert into oncall.alert_source (org_id, id, name, service_id, hash, created_at)
    values (${org}, kernel.new_id('src'), ${made.name}, ${made.serviceId}, ${made.hash}, kernel.now()) returning ${columns}`)!;

export const lockSource = (tx: Tx, org: string, id: string) => row(tx, SourceRow)`
  select ${columns} from oncall.alert_source where org_id = ${org} and id = ${id} and revoked_at is null for update`;

export const revokeSource = (tx: Tx, org: string, id: string) => row(tx, SourceRow)`
  update oncall.alert_source set revoked_at = kernel.now() where org_id = ${org} and id = ${id} and revoked_at is null returning ${columns}`;

const CredentialRow = Type.Object({
  org_id: Type.String(),
  id: Type.String(),
  name: Type.String(),
  service_id: Type.String(),
  revoked: Type.Boolean(),
});
export const sourceByHash = (tx: Tx, hash: Buffer) => row(tx, CredentialRow)`
  select org_id, id, name, service_id, revoked_at is not null as revoked from oncall.alert_source where hash = ${hash}`;

const DeliveringRow = Type.Object({ name: Type.String(), now: Type.String(), repeat_seconds: Type.Union([Type.Integer(), Type.Null()]) });

/**
 * Starts a delivery. Undefined: the source is revoked. Until this transaction ends, the source cannot be revoked, and no other delivery for
 * the service is stored: two replicas that report one group open one incident.
 */
export const beginDelivery = (tx: Tx, org: string, id: string, serviceId: string) => row(tx, DeliveringRow)`
  with turn as materialized (select ${deliveryLock(org, serviceId)})
  update oncall.alert_source s set last_event_at = c.now from turn, (select kernel.now() as now offset 0) c
   where s.org_id = ${org} and s.id = ${id} and s.revoked_at is null returning s.name, c.now, s.repeat_seconds`;

/** Stores the longest observed repeat interval of this source. */
export const recordRepeat = (tx: Tx, org: string, id: string, seconds: number) => run(tx)`
  update oncall.alert_source set repeat_seconds = ${seconds} where org_id = ${org} and id = ${id}`;

/** Records the rejected alerts of the last delivery, shown at the source. */
export const recordProblem = (tx: Tx, org: string, id: string, problem: string, rejected: number) => run(tx)`
  update oncall.alert_source set problem = ${problem}, problem_at = kernel.now(), rejected = ${rejected}
   where org_id = ${org} and id = ${id} and revoked_at is null`;

export const liveSourcesOf = (tx: Tx, org: string, serviceId: string) => rows(tx, Type.Object({ name: Type.String() }))`
  select name from oncall.alert_source where org_id = ${org} and service_id = ${serviceId} and revoked_at is null order by id limit 5`;
