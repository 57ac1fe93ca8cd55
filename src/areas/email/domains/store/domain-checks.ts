import Type, { type Static } from 'typebox';
import { rows, run, type Tx } from '../../../../kernel/db/index.ts';
import { hint } from '../../../../kernel/jobs/index.ts';
import { sql } from '../../../../kernel/sql.ts';
import type { CheckedStatus, VerificationStatus } from '../rules/domain-state.ts';

const DueRow = Type.Object({
  org_id: Type.String(),
  id: Type.String(),
  name: Type.String(),
  rsa_selector: Type.String(),
  rsa_public: Type.String(),
  ed_selector: Type.String(),
  ed_public: Type.String(),
  send_state: Type.Union([Type.Literal('pending'), Type.Literal('verified'), Type.Literal('failed')]),
  state_at: Type.String(),
  misses: Type.Integer(),
  missing_since: Type.Union([Type.String(), Type.Null()]),
  receive_state: Type.Union([Type.Literal('none'), Type.Literal('pending'), Type.Literal('verified'), Type.Literal('failed')]),
  receive_state_at: Type.Union([Type.String(), Type.Null()]),
  receive_misses: Type.Integer(),
  receive_missing_since: Type.Union([Type.String(), Type.Null()]),
  next_check_at: Type.String(),
  checks: Type.Integer(),
});
export type DueRow = Static<typeof DueRow>;

/** The domains due longest, organizations in turn, at most `perOrg` of each. */
export const dueDomains = (tx: Tx, { most, perOrg }: { most: number; perOrg: number }) => rows(tx, DueRow)`
  select org_id, id, name, rsa_selector, rsa_public, ed_selector, ed_public, send_state, state_at, misses, missing_since,
         receive_state, receive_state_at, receive_misses, receive_missing_since, next_check_at, checks
    from (select d.*, row_number() over (partition by org_id order by next_check_at, id) as turn
            from (select * from email.domain where next_check_at <= (select kernel.now()) order by next_check_at limit 2000) d) t
   where turn <= ${perOrg} order by turn, next_check_at, id limit ${most}`;

/** `next_check_at` of a domain that is no longer checked. */
const never = '9999-01-01T00:00:00Z';
const timeOf = (seconds: number | null) => (seconds === null ? null : new Date(seconds * 1_000).toISOString());

/** A requested check waits this long after the last one. */
const minSecondsBetweenChecks = 10;

/** The result of a check. `receive` is undefined for a domain that is not armed. */
export interface CheckResult {
  send: VerificationStatus;
  receive: VerificationStatus | undefined;
  /** Seconds until the next check; null: none. */
  nextIn: CheckedStatus['nextIn'];
}

/** Sets the receive columns. */
const setReceive = (standing: VerificationStatus | undefined) =>
  standing
    ? sql`, receive_state = ${standing.state}, receive_state_at = ${timeOf(standing.stateAt)}, receive_misses = ${standing.misses},
           receive_missing_since = ${timeOf(standing.missingSince)}`
    : sql``;

/** False: the domain changed since it was read. If a check was requested meanwhile, the next one comes soon, since records may have been published. */
export async function settleCheck(tx: Tx, read: DueRow, { send, receive, nextIn }: CheckResult): Promise<boolean> {
  hint(tx, read.org_id, 'email.domain');
  const settled = await run(tx)`
    update email.domain
       set send_state = ${send.state}, state_at = ${timeOf(send.stateAt)}, misses = ${send.misses}, missing_since = ${timeOf(send.missingSince)},
           checks = checks + 1, checked_at = c.now,
           next_check_at = case when next_check_at = ${read.next_check_at}
                                then coalesce(c.now + make_interval(secs => ${nextIn}), ${never}::timestamptz)
                                else c.now + make_interval(secs => ${minSecondsBetweenChecks}) end ${setReceive(receive)}
      from (select kernel.now() as now offset 0) c
     where org_id = ${read.org_id} and id = ${read.id} and checks = ${read.checks}
       and send_state = ${read.send_state} and receive_state = ${read.receive_state}`;
  return settled > 0;
}

/** Time of a requested check: ten seconds after the last one at the earliest. An earlier scheduled check stays; one in flight does not count. */
const earliestCheck = sql`least(case when next_check_at > c.now then next_check_at end, greatest(c.now, checked_at + make_interval(secs => ${minSecondsBetweenChecks})))`;

export const requestCheck = (tx: Tx, org: string, id: string, send: VerificationStatus, receive: VerificationStatus | undefined) => run(tx)`
  update email.domain
     set send_state = ${send.state}, state_at = ${timeOf(send.stateAt)}, misses = ${send.misses},
         missing_since = ${timeOf(send.missingSince)}, next_check_at = ${earliestCheck} ${setReceive(receive)}
    from (select kernel.now() as now offset 0) c
   where org_id = ${org} and id = ${id}`;

/** Arms receiving and schedules a check of the MX record. */
export const armDomain = (tx: Tx, org: string, id: string) => run(tx)`
  update email.domain
     set receive_state = 'pending', receive_state_at = c.now, receive_misses = 0, receive_missing_since = null, next_check_at = ${earliestCheck}
    from (select kernel.now() as now offset 0) c
   where org_id = ${org} and id = ${id} and receive_state = 'none'`;
