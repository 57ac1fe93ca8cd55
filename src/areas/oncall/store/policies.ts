import Type, { type Static } from 'typebox';
import { row, rows, run, type Tx } from '../../../kernel/db/index.ts';
import { sql } from '../../../kernel/sql.ts';
import type { Policy, Step } from '../rules/escalation.ts';

const PolicyRow = Type.Object({
  id: Type.String(),
  name: Type.String(),
  repeat: Type.Integer(),
  steps: Type.Unsafe<Step[]>({ type: 'array' }),
  remind_seconds: Type.Integer(),
  services: Type.Integer(),
  created_at: Type.String(),
});
export type PolicyRow = Static<typeof PolicyRow>;

const columns = sql`p.id, p.name, p.repeat, p.steps, p.remind_seconds, p.created_at,
  (select count(*) from oncall.service_policy s where s.org_id = p.org_id and s.policy_id = p.id)::int as services`;

export const policies = (tx: Tx, org: string) => rows(tx, PolicyRow)`
  select ${columns} from oncall.policy p where p.org_id = ${org} order by p.id desc`;

export const lockPolicy = (tx: Tx, org: string, id: string) => row(tx, PolicyRow)`
  select ${columns} from oncall.policy p where p.org_id = ${org} and p.id = ${id} for update of p`;

export const insertPolicy = async (tx: Tx, org: string, made: Omit<Policy, 'id'>): Promise<PolicyRow> =>
  (await row(tx, PolicyRow)`
    insert into oncall.policy as p (org_id, id, name, repeat, steps, remind_seconds, created_at)
    values (${org}, kernel.new_id('pol'), ${made.name}, ${made.repeat}, ${JSON.stringify(made.steps)}, ${made.remindAfterSeconds ?? 0},
            kernel.now())
    returning ${columns}`)!;

export const updatePolicy = async (tx: Tx, org: string, id: string, changed: Omit<Policy, 'id'>): Promise<PolicyRow> =>
  (await row(tx, PolicyRow)`
    update oncall.policy p set name = ${changed.name}, repeat = ${changed.repeat}, steps = ${JSON.stringify(changed.steps)},
           remind_seconds = ${changed.remindAfterSeconds ?? 0}
     where p.org_id = ${org} and p.id = ${id} returning ${columns}`)!;

export const deletePolicy = (tx: Tx, org: string, id: string) => run(tx)`delete from oncall.policy where org_id = ${org} and id = ${id}`;

const AttachedRow = Type.Object({ service_id: Type.String(), policy_id: Type.String() });
/** The policy id of each of these services. */
export const attachedPolicies = async (tx: Tx, org: string, serviceIds: readonly string[]): Promise<ReadonlyMap<string, string>> =>
  new Map(
    (
      await rows(tx, AttachedRow)`
        select service_id, policy_id from oncall.service_policy where org_id = ${org} and service_id = any(${serviceIds}::text[])`
    ).map((a) => [a.service_id, a.policy_id]),
  );

export const servicesWith = async (tx: Tx, org: string, policyId: string): Promise<string[]> =>
  (
    await rows(tx, AttachedRow)`
      select service_id, policy_id from oncall.service_policy where org_id = ${org} and policy_id = ${policyId} order by service_id limit 5`
  ).map((a) => a.service_id);

const SnapshotRow = Type.Object({
  id: Type.String(),
  name: Type.String(),
  repeat: Type.Integer(),
  steps: Type.Unsafe<Step[]>({ type: 'array' }),
  remindAfterSeconds: Type.Integer(),
});

/** The policy that a new incident of the service copies. */
export const policyOf = (tx: Tx, org: string, serviceId: string): Promise<Policy | undefined> => row(tx, SnapshotRow)`
  select p.id, p.name, p.repeat, p.steps, p.remind_seconds as "remindAfterSeconds" from oncall.service_policy s join oncall.policy p on p.org_id = s.org_id and p.id = s.policy_id
   where s.org_id = ${org} and s.service_id = ${serviceId}`;

/** False: there is no such policy. The policy row is locked for share, so it cannot be deleted meanwhile. */
export async function attachPolicy(tx: Tx, org: string, serviceId: string, policyId: string): Promise<boolean> {
  const known = await run(tx)`select 1 from oncall.policy where org_id = ${org} and id = ${policyId} for key share`;
  if (!known) return false;
  await run(tx)`
    insert into oncall.service_policy (org_id, service_id, policy_id) values (${org}, ${serviceId}, ${policyId})
    on conflict (org_id, service_id) do update set policy_id = excluded.policy_id`;
  return true;
}

export const detachPolicy = (tx: Tx, org: string, serviceId: string) =>
  run(tx)`delete from oncall.service_policy where org_id = ${org} and service_id = ${serviceId}`;
