import Type, { type Static } from 'typebox';
import { rows, run, type Tx } from '../../../kernel/db/index.ts';

const BucketRow = Type.Object({
  bucket: Type.String(),
  failures: Type.Integer(),
  expires_at: Type.String(),
  seconds_left: Type.Integer(),
});
export type CountedBucket = Static<typeof BucketRow>;

/** Counts one more in each bucket, and begins those anew whose time is over. In one order, so that two at once do not deadlock. */
export const countInBuckets = (tx: Tx, buckets: readonly string[], seconds: number) => rows(tx, BucketRow)`
  insert into account.guesses as g (bucket, failures, expires_at)
  select b, 1, kernel.now() + make_interval(secs => ${seconds}) from unnest(${[...buckets]}::text[]) b order by b
  on conflict (bucket) do update
     set failures = case when g.expires_at <= kernel.now() then 1 else g.failures + 1 end,
         expires_at = case when g.expires_at <= kernel.now() then excluded.expires_at else g.expires_at end
  returning g.bucket, g.failures, g.expires_at, ceil(extract(epoch from g.expires_at - kernel.now()))::int as seconds_left`;

/** Takes one back from each bucket, unless it began anew meanwhile. */
export const uncountInBuckets = (tx: Tx, counted: readonly CountedBucket[]) => run(tx)`
  with mine as (
    select g.bucket from account.guesses g
      join unnest(${counted.map((c) => c.bucket)}::text[], ${counted.map((c) => c.expires_at)}::timestamptz[]) as c (bucket, expires_at) using (bucket, expires_at)
     order by g.bucket for update of g)
  update account.guesses g set failures = failures - 1 from mine where g.bucket = mine.bucket and g.failures > 0`;

export const deleteOldGuesses = (tx: Tx, limit: number) => run(tx)`
  delete from account.guesses where bucket in (
    select bucket from account.guesses where expires_at < kernel.now() order by expires_at limit ${limit} for update skip locked)`;
