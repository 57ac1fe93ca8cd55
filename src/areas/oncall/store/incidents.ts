import Type, { type Static } from 'typebox';
import { row, rows, run, type Tx } from '../../../kernel/db/index.ts';
import { hasJob, hint, type NamedJob } from '../../../kernel/jobs/index.ts';
import type { Pagination } from '../../../kernel/pagination.ts';
import { narrowedTo, type Sql, sql, type Visible } from '../../../kernel/sql.ts';
import { makeIds } from '../../../kernel/time.ts';
import type { CountChange } from '../rules/attach.ts';
import type { EscalationState, Policy } from '../rules/escalation.ts';

const nullable = <T extends Type.TSchema>(schema: T) => Type.Union([schema, Type.Null()]);
const word = <const V extends string>(...values: V[]) => Type.Unsafe<V>({ type: 'string', enum: values });

/** The actor: a person, an alert source, the provider, or the product itself (`auto`, `system`). */
export const ActorJson = Type.Object({ kind: Type.String(), id: Type.Optional(Type.String()), label: Type.String() });
export type Actor = Static<typeof ActorJson>;

const IncidentRow = Type.Object({
  id: Type.String(),
  service_id: Type.String(),
  service_name: Type.String(),
  title: Type.String(),
  description: nullable(Type.String()),
  origin: word('alert', 'manual', 'uptime'),
  status: word('open', 'acknowledged', 'resolved'),
  opened_at: Type.String(),
  acknowledged_at: nullable(Type.String()),
  acknowledged_by: nullable(ActorJson),
  resolved_at: nullable(Type.String()),
  resolved_by: nullable(ActorJson),
  firing_alerts: Type.Integer(),
  alert_count: Type.Integer(),
  policy: nullable(Type.Unsafe<Policy>({ type: 'object' })),
  walk_state: word('walking', 'acknowledged', 'resolved', 'exhausted', 'none'),
  pass: Type.Integer(),
  step: Type.Integer(),
  next_pass: nullable(Type.Integer()),
  next_step: nullable(Type.Integer()),
  next_at: nullable(Type.String()),
  pass_waited: Type.Integer(),
  round: Type.Integer(),
  notices: Type.Integer(),
  step_given_up: Type.Boolean(),
  step_user: nullable(Type.String()),
});
export type IncidentRow = Static<typeof IncidentRow>;

const columns = sql`id, service_id, service_name, title, description, origin, status, opened_at, acknowledged_at, acknowledged_by, resolved_at,
  resolved_by, firing_alerts, alert_count, policy, walk_state, pass, step, next_pass, next_step, next_at, pass_waited, round,
  notices, step_given_up, step_user`;

/** The same columns with the alias `i`, for joins. */
const shown = sql`i.id, i.service_id, i.service_name, i.title, i.description, i.origin, i.status, i.opened_at, i.acknowledged_at, i.acknowledged_by,
  i.resolved_at, i.resolved_by, i.firing_alerts, i.alert_count, i.policy, i.walk_state, i.pass, i.step, i.next_pass, i.next_step, i.next_at,
  i.pass_waited, i.round, i.notices, i.step_given_up, i.step_user`;

export type Status = IncidentRow['status'];

interface IncidentFilter {
  status?: Status | undefined;
  serviceId?: string | undefined;
}

/**
 * Newest first; without a status, the unresolved ones. Each status, and each visible service, is read by its own index, so the cost follows
 * the page size.
 */
export const incidentsOf = (tx: Tx, org: string, visible: Visible, { status, serviceId }: IncidentFilter, { limit, after }: Pagination) => {
  const shownOf = narrowedTo(visible, serviceId);
  const services = shownOf === '*' ? sql`(select null) v(id)` : sql`unnest(${[...shownOf]}::text[]) v(id)`;
  const ofService = shownOf === '*' ? sql`true` : sql`i.service_id = v.id`;
  return rows(tx, IncidentRow)`
    select ${shown}
      from unnest(${status ? [status] : ['open', 'acknowledged']}::text[]) s(status), ${services},
           lateral (select i.* from oncall.incident i
                     where i.org_id = ${org} and i.status = s.status and ${ofService} and i.id < ${after ?? 'inc~'}
                     order by i.id desc limit ${limit + 1}) i
     order by i.id desc limit ${limit + 1}`;
};

export const incidentById = (tx: Tx, org: string, id: string) => row(tx, IncidentRow)`
  select ${columns} from oncall.incident where org_id = ${org} and id = ${id}`;

/** Serializes acknowledging, resolving and stepping. Other transactions may still insert rows that refer to the incident. */
export const lockIncident = (tx: Tx, org: string, id: string) => row(tx, IncidentRow)`
  select ${columns} from oncall.incident where org_id = ${org} and id = ${id} for no key update`;

const EscalationRow = Type.Object({ ...IncidentRow.properties, now: Type.String(), has_pages: Type.Boolean() });
/** The same, with the current time and whether the incident has pages. */
export const lockForEscalation = (tx: Tx, org: string, id: string) => row(tx, EscalationRow)`
  select ${columns}, kernel.now() as now, exists (select from oncall.page p where p.org_id = ${org} and p.incident_id = ${id}) as has_pages
    from oncall.incident where org_id = ${org} and id = ${id} for no key update`;

const LockedRow = Type.Object({ id: Type.String(), status: IncidentRow.properties.status });
/** Locks in id order, so that two callers wait for each other instead of deadlocking. */
export const lockStatuses = (tx: Tx, org: string, ids: readonly string[]) => rows(tx, LockedRow)`
  select id, status from oncall.incident where org_id = ${org} and id = any(${ids}::text[]) order by id for no key update`;

/** The same with full rows. */
export const lockIncidentRows = (tx: Tx, org: string, ids: readonly string[]) => rows(tx, IncidentRow)`
  select ${columns} from oncall.incident where org_id = ${org} and id = any(${ids}::text[]) order by id for no key update`;

/** Locks for share: the incident cannot be acknowledged or resolved until this transaction ends. */
export const shareStatus = async (tx: Tx, org: string, id: string): Promise<Status | undefined> =>
  (
    await row(tx, Type.Object({ status: IncidentRow.properties.status }))`
      select status from oncall.incident where org_id = ${org} and id = ${id} for share`
  )?.status;

export interface NewIncident {
  serviceId: string;
  serviceName: string;
  title: string;
  description: string | undefined;
  origin: IncidentRow['origin'];
  policy: Policy | undefined;
  /** Alerts it opens with, all firing. */
  alerts?: number;
  /** A time read in this transaction. */
  now: string;
}

/** A new incident row. With a policy, its first step is due. */
export const newIncidentRow = (made: NewIncident): IncidentRow => ({
  id: makeIds('inc', made.now, 1)[0]!,
  service_id: made.serviceId,
  service_name: made.serviceName,
  title: made.title,
  description: made.description ?? null,
  origin: made.origin,
  status: 'open',
  opened_at: made.now,
  acknowledged_at: null,
  acknowledged_by: null,
  resolved_at: null,
  resolved_by: null,
  firing_alerts: made.alerts ?? 0,
  alert_count: made.alerts ?? 0,
  policy: made.policy ?? null,
  walk_state: made.policy ? 'walking' : 'none',
  pass: 0,
  step: 0,
  next_pass: made.policy ? 0 : null,
  next_step: made.policy ? 0 : null,
  next_at: made.policy ? made.now : null,
  pass_waited: 0,
  round: 0,
  notices: 0,
  step_given_up: false,
  step_user: null,
});

export const insertIncidentSql = (org: string, i: IncidentRow) => sql`
  insert into oncall.incident (org_id, id, service_id, service_name, title, description, origin, status, opened_at, policy, walk_state,
                               pass, step, next_pass, next_step, next_at, pass_waited, step_given_up, step_user, alert_count, firing_alerts)
  values (${org}, ${i.id}, ${i.service_id}, ${i.service_name}, ${i.title}, ${i.description}, ${i.origin}, ${i.status}, ${i.opened_at},
          ${i.policy && JSON.stringify(i.policy)}, ${i.walk_state}, ${i.pass}, ${i.step}, ${i.next_pass}, ${i.next_step}, ${i.next_at},
          ${i.pass_waited}, ${i.step_given_up}, ${i.step_user}, ${i.alert_count}, ${i.firing_alerts})`;

/** From the incident's copy of the policy; null without a policy or reminder. */
const nextReminder = sql`kernel.now() + make_interval(secs => nullif((policy->>'remindAfterSeconds')::float8, 0))`;

/** Schedules the next reminder; undefined once the incident is not acknowledged any more. */
export const scheduleNextReminder = async (tx: Tx, org: string, id: string): Promise<string | undefined> =>
  (
    await row(tx, Type.Object({ next_at: nullable(Type.String()) }))`
      update oncall.incident set next_at = ${nextReminder} where org_id = ${org} and id = ${id} and status = 'acknowledged' returning next_at`
  )?.next_at ?? undefined;

export const acknowledgeIncident = async (tx: Tx, org: string, id: string, by: Actor): Promise<IncidentRow> =>
  (await row(tx, IncidentRow)`
    update oncall.incident set status = 'acknowledged', acknowledged_at = kernel.now(), acknowledged_by = ${JSON.stringify(by)},
           walk_state = case when walk_state = 'none' then 'none' else 'acknowledged' end, next_pass = null, next_step = null,
           next_at = ${nextReminder}
     where org_id = ${org} and id = ${id} returning ${columns}`)!;

export const resolveIncident = async (tx: Tx, org: string, id: string, by: Actor): Promise<IncidentRow> =>
  (await row(tx, IncidentRow)`
    update oncall.incident set status = 'resolved', resolved_at = kernel.now(), resolved_by = ${JSON.stringify(by)},
           walk_state = case when walk_state = 'none' then 'none' else 'resolved' end, next_pass = null, next_step = null, next_at = null
     where org_id = ${org} and id = ${id} returning ${columns}`)!;

/** The step that fired last, and whether it has no person left to page. */
export interface FiredStep {
  pass: number;
  step: number;
  givenUp: boolean;
  /** The paged user; null if there is none. */
  userId: string | null;
}

/** The position columns after a step: the last step and the next one. */
export const escalationColumns = (fired: FiredStep, state: EscalationState | undefined) => ({
  pass: fired.pass,
  step: fired.step,
  next_pass: state?.next?.pass ?? null,
  next_step: state?.next?.step ?? null,
  next_at: state ? new Date(state.at).toISOString() : null,
  pass_waited: state?.waited ?? 0,
  walk_state: state ? ('walking' as const) : ('exhausted' as const),
  step_given_up: fired.givenUp,
  step_user: fired.userId,
});

export const saveEscalation = (tx: Tx, org: string, id: string, to: ReturnType<typeof escalationColumns>) =>
  run(tx)`
    update oncall.incident
       set pass = ${to.pass}, step = ${to.step}, next_pass = ${to.next_pass}, next_step = ${to.next_step}, next_at = ${to.next_at},
           pass_waited = ${to.pass_waited}, walk_state = ${to.walk_state}, step_given_up = ${to.step_given_up}, step_user = ${to.step_user}
     where org_id = ${org} and id = ${id}`;

/** Restarts the escalation in a new round and clears the acknowledgement. Without a policy there is nothing to escalate. */
export const restartEscalation = async (tx: Tx, org: string, id: string): Promise<IncidentRow> =>
  (await row(tx, IncidentRow)`
    update oncall.incident
       set status = 'open', acknowledged_at = null, acknowledged_by = null, round = round + 1, pass = 0, step = 0, pass_waited = 0,
           step_given_up = false, step_user = null,
           walk_state = case when policy is null then 'none' else 'walking' end, next_pass = case when policy is not null then 0 end,
           next_step = case when policy is not null then 0 end, next_at = case when policy is not null then kernel.now() end
     where org_id = ${org} and id = ${id}
    returning ${columns}`)!;

/** Makes the last step fire again, for the next person of its target. */
export const repeatLastStep = (tx: Tx, org: string, id: string) => run(tx)`
  update oncall.incident set walk_state = 'walking', next_pass = pass, next_step = step, next_at = kernel.now()
   where org_id = ${org} and id = ${id} and status = 'open' and walk_state in ('walking', 'exhausted')`;

/** Condition: a page of the step that fired last. */
const inStep = sql`p.org_id = i.org_id and p.incident_id = i.id and p.round = i.round and p.pass = i.pass and p.step = i.step and p.notice = 0`;

export interface SliceOfPerson {
  userId: string;
  /** Incidents with a greater id. */
  after: string;
  /** Neither opened nor acknowledged after this time. */
  until: string;
  limit: number;
}

/** Unresolved incidents of a person: acknowledged by that person, or waiting only for that person in the current step. */
export const incidentsOfPerson = (tx: Tx, org: string, { userId, after, until, limit }: SliceOfPerson) => rows(tx, IncidentRow)`
  select ${shown} from oncall.incident i
   where i.org_id = ${org} and i.status <> 'resolved' and i.id > ${after} and coalesce(i.acknowledged_at, i.opened_at) <= ${until}
     and ((i.status = 'acknowledged' and i.acknowledged_by->>'id' = ${userId})
      or (i.status = 'open'
          and (i.step_user = ${userId} or exists (select from oncall.page p where p.user_id = ${userId} and ${inStep}))
          and not exists (select from oncall.page p where p.user_id <> ${userId} and p.state not in ('failed', 'canceled') and ${inStep})))
   order by i.id limit ${limit} for no key update`;

/** Counts one more notice to the acknowledger; returns its number. */
export const countNotice = async (tx: Tx, org: string, id: string): Promise<number> =>
  (await row(tx, Type.Object({ notices: Type.Integer() }))`
    update oncall.incident set notices = notices + 1 where org_id = ${org} and id = ${id} returning notices`)!.notices;

/** Locks the newest unresolved incident of a service, so that it cannot be resolved before the alerts are attached. */
export const lockLiveIncident = (tx: Tx, org: string, serviceId: string) => row(tx, Type.Object({ id: Type.String() }))`
  select id from oncall.incident where org_id = ${org} and service_id = ${serviceId} and status <> 'resolved'
   order by id desc limit 1 for no key update`;

/** Adds to the counts of incidents. It never counts alert rows, which may be very many. */
export function changeCounts(tx: Tx, org: string, changes: readonly (CountChange & { incidentId: string })[]): Promise<IncidentRow[]> {
  hint(tx, org, 'oncall.incident');
  return rows(tx, IncidentRow)`
  update oncall.incident i
     set alert_count = i.alert_count + c.alerts, firing_alerts = greatest(0, i.firing_alerts + c.firing)
    from jsonb_to_recordset(${JSON.stringify(changes)}::jsonb) as c("incidentId" text, alerts int, firing int)
   where i.org_id = ${org} and i.id = c."incidentId"
  returning ${columns}`;
}

const UnresolvedRow = Type.Object({ title: Type.String() });
export const unresolvedOf = (tx: Tx, org: string, serviceId: string) => rows(tx, UnresolvedRow)`
  select title from oncall.incident where org_id = ${org} and service_id = ${serviceId} and status <> 'resolved' order by id desc limit 5`;

export interface SliceOfService {
  serviceId: string;
  /** Incidents with a smaller id; null: from the newest on. */
  after: string | null;
  limit: number;
}

const SeenRow = Type.Object({ last: nullable(Type.String()), seen: Type.Integer() });

const renameSlice = async (
  tx: Tx,
  org: string,
  { serviceId, after, limit }: SliceOfService,
  name: string,
  which: { are: Sql; but?: Sql },
) => {
  const { last, seen } = (await row(tx, SeenRow)`
    with slice as materialized (
      select id from oncall.incident where org_id = ${org} and service_id = ${serviceId} and ${which.are}
         and (${after}::text is null or id < ${after}) order by id desc limit ${limit}),
    renamed as (
      update oncall.incident i set service_name = ${name}
       where i.org_id = ${org} and i.id in (select id from slice) and i.service_name <> ${name} and ${which.but ?? sql`true`})
    select min(id) as last, count(*)::int as seen from slice`)!;
  return seen === limit ? last : null;
};

/** Renames a slice of unresolved incidents. Returns the last id if there may be more, else null. */
export const renameUnresolved = (tx: Tx, org: string, slice: SliceOfService, name: string): Promise<string | null> =>
  renameSlice(tx, org, slice, name, { are: sql`status <> 'resolved'` });

/** The same for resolved public incidents. */
export const renamePublic = (tx: Tx, org: string, slice: SliceOfService, name: string): Promise<string | null> =>
  renameSlice(tx, org, slice, name, {
    are: sql`status = 'resolved'`,
    but: sql`exists (select from oncall.public_update u where u.org_id = i.org_id and u.incident_id = i.id)`,
  });

const OverdueRow = Type.Object({ org_id: Type.String(), id: Type.String() });
/** Overdue steps and reminders without this job. Organizations take turns, each with its oldest first. */
export const overdueEscalations = (tx: Tx, seconds: number, job: NamedJob) => {
  const late = sql`next_at < (select kernel.now()) - make_interval(secs => ${seconds})`;
  return rows(tx, OverdueRow)`
    select org_id, id
      from (select org_id, id, row_number() over (partition by org_id order by next_at) as n
              from ((select org_id, id, next_at from oncall.incident where walk_state = 'walking' and ${late} order by next_at limit 100000)
                    union all
                    (select org_id, id, next_at from oncall.incident where walk_state = 'acknowledged' and next_at is not null and ${late}
                      order by next_at limit 100000)) due
             where not ${hasJob(job, sql`due.id`)}) ranked
     order by n limit 1000`;
};
