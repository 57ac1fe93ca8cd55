import Type from 'typebox';
import { row, rows, run, type Tx } from '../../../kernel/db/index.ts';
import { idTime } from '../../../kernel/time.ts';

/** Also seals a segment without a row: a process suspended before its first batch would insert the row when it resumes. */
export const sealSegment = (tx: Tx, key: string) => run(tx)`
  insert into email.segment as s (key, node, created_at, sealed_at) values (${key}, '', kernel.now(), kernel.now())
      on conflict (key) do update set sealed_at = excluded.sealed_at where s.sealed_at is null`;

const OpenRow = Type.Object({ created_at: Type.String(), sealed_at: Type.String() });

/** Message times may precede the segment's row or follow its seal by this much, since several statements read the clock. */
const clockSkewMs = 5_000;

/**
 * Every machine can read the segment now, so any process may send its unfinished mail. Its messages are found by their ids, which begin with the time;
 * a segment takes mail for one second. A clock set back meanwhile hides some messages, which the next statement finds.
 */
export const markStored = async (tx: Tx, key: string): Promise<void> => {
  const open = await row(tx, OpenRow)`
    update email.segment set stored_at = kernel.now() where key = ${key} returning created_at, coalesce(sealed_at, kernel.now()) as sealed_at`;
  if (!open) return;
  const from = `msg_${idTime(Date.parse(open.created_at) - clockSkewMs)}`;
  const to = `msg_${idTime(Date.parse(open.sealed_at) + clockSkewMs)}`;
  await run(tx)`set local enable_seqscan = off`;
  await run(tx)`
    update email.recipient r set node = null
      from email.message m
     where m.id between ${from} and ${to} and m.body_key = ${key} and r.message_id = m.id and r.done_at is null and r.node is not null`;
  await run(tx)`update email.arrival set node = null where body_key = ${key} and node is not null`;
};

/** Releases mail that is still bound to one machine although its segment is stored. Scans the whole queue. */
export const releaseStored = (tx: Tx): Promise<number> => run(tx)`
  update email.recipient r set node = null
   where r.done_at is null and r.node is not null
     and exists (select from email.message m join email.segment s on s.key = m.body_key where m.id = r.message_id and s.stored_at is not null)`;

const UnstoredRow = Type.Object({ node: Type.String(), segments: Type.Integer(), seconds: Type.Number() });

/** Segments that only one machine can read, with the age of the oldest. */
export const unstoredSegments = (tx: Tx) => rows(tx, UnstoredRow)`
  select node, count(*)::int as segments, extract(epoch from kernel.now() - min(created_at))::float8 as seconds
    from email.segment where stored_at is null and node <> '' group by node`;

export const addSegment = (tx: Tx, key: string, node: string): Promise<number> => run(tx)`
  insert into email.segment (key, node, created_at) values (${key}, ${node}, kernel.now()) on conflict do nothing`;
