import Type, { type Static } from 'typebox';
import { RoleUses } from '../../../identity/store/principals.ts';
import { row, run, type Tx } from '../../../kernel/db/index.ts';
import { sql } from '../../../kernel/sql.ts';

const nullable = <T extends Type.TSchema>(schema: T) => Type.Union([schema, Type.Null()]);

/** What the person chose, as the column `scope` holds it. `sessionId`: where they approved. `roles`: what the token is narrowed to; null: not narrowed. */
const Approval = Type.Object({ sessionId: Type.String(), days: Type.Integer(), roles: nullable(RoleUses) });
export type Approval = Static<typeof Approval>;

const RequestRow = Type.Object({
  id: Type.String(),
  program: Type.String(),
  address: Type.String(),
  approved_by: nullable(Type.String()),
  org_id: nullable(Type.String()),
  approval: nullable(Approval),
  is_refused: Type.Boolean(),
  is_over: Type.Boolean(),
  age_seconds: Type.Integer(),
});
/** A program that asks to act for a person; the fields of the approval are null until then. */
export type DeviceRequest = Static<typeof RequestRow>;

const columns = sql`id, program, address, approved_by, org_id, scope as approval, is_refused,
  expires_at <= kernel.now() as is_over, extract(epoch from kernel.now() - created_at)::int as age_seconds`;

const OpenRow = Type.Object({ here: Type.Integer(), everywhere: Type.Integer() });

/** How many requests of an address, and of all, are open; counts at most so many of each. */
export const countOpen = async (tx: Tx, address: string, most: { here: number; everywhere: number }) =>
  (await row(tx, OpenRow)`
    select (select count(*) from (
              select from account.device_request where address = ${address} and kernel.now() < expires_at limit ${most.here}) h) as here,
           (select count(*) from (
              select from account.device_request where kernel.now() < expires_at limit ${most.everywhere}) e) as everywhere`)!;

const MadeRow = Type.Object({ id: Type.String(), expires_at: Type.String() });

/** Undefined: the user code is taken. */
export const insertDeviceRequest = (
  tx: Tx,
  r: { hash: Buffer; userCode: string; program: string; address: string; seconds: number },
) => row(tx, MadeRow)`
  insert into account.device_request (id, device_hash, user_code, program, address, created_at, expires_at)
  select kernel.new_id('dvr'), ${r.hash}, ${r.userCode}, ${r.program}, ${r.address}, now, now + make_interval(secs => ${r.seconds}) from kernel.now() now
  on conflict (user_code) do nothing returning id, expires_at`;

export const requestByDevice = (tx: Tx, hash: Buffer): Promise<DeviceRequest | undefined> => row(tx, RequestRow)`
  select ${columns} from account.device_request where device_hash = ${hash}`;

/** One that waits for an answer. */
export const requestByUserCode = (tx: Tx, userCode: string): Promise<DeviceRequest | undefined> => row(tx, RequestRow)`
  select ${columns} from account.device_request
   where user_code = ${userCode} and approved_by is null and not is_refused and kernel.now() < expires_at`;

/** Notes a question of the program. False: the one before it was less than `seconds` ago. */
export const notePoll = async (tx: Tx, id: string, seconds: number): Promise<boolean> =>
  (await run(tx)`
    update account.device_request set polled_at = kernel.now()
     where id = ${id} and (polled_at is null or polled_at <= kernel.now() - make_interval(secs => ${seconds}))`) > 0;

/** Of two answers at once, one counts. False: it was answered, or is over. */
export const approveRequest = async (tx: Tx, id: string, by: { userId: string; org: string; approval: Approval }): Promise<boolean> =>
  (await run(tx)`
    update account.device_request set approved_by = ${by.userId}, org_id = ${by.org}, scope = ${JSON.stringify(by.approval)}::jsonb
     where id = ${id} and approved_by is null and not is_refused and kernel.now() < expires_at`) > 0;

export const refuseRequest = async (tx: Tx, id: string): Promise<boolean> =>
  (await run(tx)`
    update account.device_request set is_refused = true
     where id = ${id} and approved_by is null and not is_refused and kernel.now() < expires_at`) > 0;

/** Of two fetches at once, one gets true. */
export const takeApproved = async (tx: Tx, id: string): Promise<boolean> =>
  (await run(tx)`delete from account.device_request where id = ${id} and approved_by is not null and kernel.now() < expires_at`) > 0;

export const deleteOldDeviceRequests = (tx: Tx, limit: number) => run(tx)`
  delete from account.device_request where id in (
    select id from account.device_request where expires_at < kernel.now() order by expires_at limit ${limit} for update skip locked)`;

const FailuresRow = Type.Object({ failures: Type.Integer() });

/** Counts a code that a person typed, in an hour that begins with the first. Concurrent ones are counted one by one. */
export const countTyped = async (tx: Tx, userId: string): Promise<number> =>
  (await row(tx, FailuresRow)`
    insert into account.guesses (bucket, failures, expires_at) values (${`device ${userId}`}, 1, kernel.now() + interval '1 hour')
    on conflict (bucket) do update set
      failures = case when guesses.expires_at <= kernel.now() then 1 else guesses.failures + 1 end,
      expires_at = case when guesses.expires_at <= kernel.now() then excluded.expires_at else guesses.expires_at end
    returning failures`)!.failures;

/** A right code is no guess. */
export const uncountTyped = (tx: Tx, userId: string) => run(tx)`
  update account.guesses set failures = greatest(0, failures - 1) where bucket = ${`device ${userId}`}`;
