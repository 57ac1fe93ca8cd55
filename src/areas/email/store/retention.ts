import Type from 'typebox';
import { rows, run, type Tx } from '../../../kernel/db/index.ts';

// Deletes expired data. Reads hide it from its expiry on, so deletion may lag. Unfinished messages are never touched.

const KeyRow = Type.Object({ key: Type.String() });
const unfinished = ['queued', 'sending', 'deferred', 'received'];

/** Segments whose newest message is older than 30 days, without unfinished messages. A segment closes within a day. */
export const findOldSegments = async (tx: Tx, limit: number): Promise<string[]> =>
  (
    await rows(tx, KeyRow)`
      select s.key from email.segment s
       where s.created_at < kernel.now() - interval '31 days'
         and s.key not in (select m.body_key from email.message m
                            where m.state = any(${unfinished}::text[]) and m.body_key is not null and m.created_at < kernel.now() - interval '30 days')
         and not exists (select from email.arrival a where a.body_key = s.key)
       order by s.created_at limit ${limit}`
  ).map((s) => s.key);

export const deleteSegments = (tx: Tx, keys: readonly string[]) => run(tx)`delete from email.segment where key = any(${keys}::text[])`;

/** Objects of large messages older than 30 days. */
export const findOldObjects = async (tx: Tx, limit: number): Promise<string[]> =>
  (
    await rows(tx, KeyRow)`
      select m.body_key as key from email.message m
       where m.body_key like 'mail/large/%' and m.created_at < kernel.now() - interval '30 days' and m.state <> all(${unfinished}::text[])
         -- Received messages of several routes share one object.
         and not exists (select from email.message o where o.body_key = m.body_key and o.body_key like 'mail/large/%' and o.state = any(${unfinished}::text[]))
       order by m.created_at limit ${limit}`
  ).map((m) => m.key);

export const forgetObjects = (tx: Tx, keys: readonly string[]) => run(tx)`
  update email.message set body_key = null where body_key = any(${keys}::text[]) and body_key like 'mail/large/%' and created_at < kernel.now() - interval '30 days'`;

/** Deletes finished messages older than 90 days with their dependent rows; returns how many. The product's own mail is deleted in any state, since
 *  its sender may have given up an unfinished one. */
export const deleteOldMessages = (tx: Tx, limit: number): Promise<number> => run(tx)`
  with old as (
    select id from email.message
     where created_at < kernel.now() - interval '90 days' and (door = 'relay' or state <> all(${unfinished}::text[])) order by id limit ${limit} for update skip locked),
  events as (delete from email.event e using old where e.message_id = old.id),
  recipients as (delete from email.recipient r using old where r.message_id = old.id),
  addresses as (delete from email.received_address a using old where a.message_id = old.id)
  delete from email.message m using old where m.id = old.id`;

export const deleteOldCounters = async (tx: Tx): Promise<void> => {
  await Promise.all([
    run(tx)`delete from email.submission where created_at < kernel.now() - interval '25 hours'`,
    run(tx)`delete from email.sending_hour where hour < kernel.now() - interval '8 days'`,
    run(tx)`delete from email.outcome_day where day < (kernel.now() at time zone 'UTC')::date - 400`,
    run(tx)`delete from email.usage where day < (kernel.now() at time zone 'UTC')::date - 90`,
    run(tx)`delete from email.received_usage where day < (kernel.now() at time zone 'UTC')::date - 90`,
    run(tx)`delete from email.received_sender where day < (kernel.now() at time zone 'UTC')::date - 31`,
  ]);
};

/** The keys that a row refers to. */
export const findReferenced = async (tx: Tx, keys: readonly string[]): Promise<Set<string>> =>
  new Set(
    (
      await rows(tx, KeyRow)`
        select key from email.segment where key = any(${keys}::text[])
        union all
        select k.key from unnest(${keys}::text[]) k(key)
         where exists (select from email.message m where m.body_key = k.key and m.body_key like 'mail/large/%')`
    ).map((k) => k.key),
  );

/** For a backup: every stored object that a row refers to, in pages. */
export async function* listStored(tx: Tx): AsyncIterable<string> {
  for (let after = ''; ; ) {
    const found = await rows(tx, KeyRow)`select key from email.segment where key > ${after} order by key limit 1000`;
    yield* found.map((s) => s.key);
    if (found.length < 1000) break;
    after = found.at(-1)!.key;
  }
  for (let after = ''; ; ) {
    const found = await rows(
      tx,
      KeyRow,
    )`select body_key as key from email.message where body_key like 'mail/large/%' and body_key > ${after} order by body_key limit 1000`;
    yield* found.map((m) => m.key);
    if (found.length < 1000) return;
    after = found.at(-1)!.key;
  }
}

/** Deletes deliveries older than 30 days; returns how many. Ids are in time order, so only the first rows are read. */
export const deleteOldDeliveries = (tx: Tx, limit: number): Promise<number> => run(tx)`
  delete from email.delivery d
   using (select id, created_at from email.delivery order by id limit ${limit}) old
   where d.id = old.id and old.created_at < kernel.now() - interval '30 days'`;

/** Kept ten days longer than redelivery is possible, so that a late redelivery can still finish. */
export const deleteOldEvents = (tx: Tx, limit: number): Promise<number> => run(tx)`
  delete from email.webhook_event e
   using (select id, created_at from email.webhook_event order by id limit ${limit}) old
   where e.id = old.id and old.created_at < kernel.now() - interval '40 days'`;
