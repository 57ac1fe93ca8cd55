import Type, { type Static } from 'typebox';
import { row, rows, run, type Tx } from '../../../kernel/db/index.ts';
import { sql } from '../../../kernel/sql.ts';

const LinkRow = Type.Object({ id: Type.String(), name: Type.String(), created_at: Type.String() });
export type CalendarLink = Static<typeof LinkRow>;

const columns = sql`id, name, created_at`;

export const calendarLinksOf = (tx: Tx, org: string, scheduleId: string): Promise<CalendarLink[]> => rows(tx, LinkRow)`
  select ${columns} from oncall.calendar_link where org_id = ${org} and schedule_id = ${scheduleId} order by id desc`;

export const insertCalendarLink = async (tx: Tx, org: string, scheduleId: string, made: { name: string; hash: Buffer }) =>
  (await row(tx, LinkRow)`
    insert into oncall.calendar_link (org_id, id, schedule_id, name, hash, created_at)
    values (${org}, kernel.new_id('cal'), ${scheduleId}, ${made.name}, ${made.hash}, kernel.now()) returning ${columns}`)!;

/** Undefined: no such link. */
export const deleteCalendarLink = (tx: Tx, org: string, scheduleId: string, id: string): Promise<CalendarLink | undefined> =>
  row(tx, LinkRow)`
    delete from oncall.calendar_link where org_id = ${org} and schedule_id = ${scheduleId} and id = ${id} returning ${columns}`;

const PresentedRow = Type.Object({ org_id: Type.String(), schedule_id: Type.String() });

/** The schedule of an address. */
export const scheduleByLink = (tx: Tx, hash: Buffer) =>
  row(tx, PresentedRow)`select org_id, schedule_id from oncall.calendar_link where hash = ${hash}`;

/** Counts links. The caller has locked the schedule, so concurrent callers cannot exceed the limit. */
export const countCalendarLinks = (tx: Tx, org: string, scheduleId: string): Promise<number> =>
  run(tx)`select 1 from oncall.calendar_link where org_id = ${org} and schedule_id = ${scheduleId}`;
