import Type, { type Static } from 'typebox';
import { row, rows, run, type Tx } from '../../../kernel/db/index.ts';
import { channelNamed, wake } from '../../../kernel/jobs/index.ts';
import { type Sql, sql } from '../../../kernel/sql.ts';

/** The task that processes the queue. */
export const collectTask = channelNamed('registry.collect');

export const linkRef = (repositoryId: number, blobId: number) => `${repositoryId}/${blobId}`;

type Kind = 'link' | 'blob';

/**
 * Queues a review by garbage collection after a delay. `registryId` null: without an organization. An early review is harmless, because the
 * review checks again. `graceSeconds` 0: a recently touched link is replaced by a promise instead of waiting.
 */
export const enqueueReview = (
  tx: Tx,
  registryId: string | null,
  kind: Kind,
  refs: string[],
  delaySeconds: number,
  graceSeconds: 0 | null = null,
) =>
  enqueue(
    tx,
    sql`coalesce((select g.org_id from registry.registry g where g.id = ${registryId}), '')`,
    kind,
    refs,
    delaySeconds,
    graceSeconds,
  );

/** The same for content of an organization whose registry may be deleted already. */
export const enqueueReviewOf = (tx: Tx, org: string, kind: Kind, refs: string[], delaySeconds: number) =>
  enqueue(tx, sql`${org}`, kind, refs, delaySeconds, null);

async function enqueue(tx: Tx, org: Sql, kind: Kind, refs: string[], delaySeconds: number, graceSeconds: 0 | null) {
  if (refs.length === 0) return;
  await run(tx)`
    insert into registry.gc_queue (org_id, kind, ref, review_after, grace_seconds)
    select ${org}::text, ${kind}, ref,
           kernel.now() + make_interval(secs => ${delaySeconds}), ${graceSeconds} from unnest(${refs}::text[]) ref order by ref
    on conflict (kind, ref) do update
       set review_after = least(gc_queue.review_after, excluded.review_after), grace_seconds = least(gc_queue.grace_seconds, excluded.grace_seconds)`;
  if (delaySeconds === 0) wake(tx, collectTask);
}

const QueuedRow = Type.Object({
  kind: Type.Union([Type.Literal('link'), Type.Literal('blob')]),
  ref: Type.String(),
  grace_seconds: Type.Union([Type.Integer(), Type.Null()]),
});
export type QueuedRow = Static<typeof QueuedRow>;

const OrgRow = Type.Object({ org_id: Type.String() });

/**
 * Organizations with due entries, starting after this one and wrapping around. One index step per organization, however many entries it
 * has.
 */
export async function orgsWithDue(tx: Tx, after: string | null, limit: number): Promise<string[]> {
  const some = async (from: string | null) =>
    (
      await rows(tx, OrgRow)`
        with recursive orgs (org_id) as (
          (select org_id from registry.gc_queue where ${from}::text is null or org_id > ${from} order by org_id limit 1)
          union all
          select (select q.org_id from registry.gc_queue q where q.org_id > o.org_id order by q.org_id limit 1) from orgs o where o.org_id is not null
        )
        select org_id from orgs
         where org_id is not null and exists (select from registry.gc_queue where review_after <= kernel.now())
           and exists (select from registry.gc_queue q where q.org_id = orgs.org_id and q.review_after <= (select kernel.now()))
         limit ${limit}`
    ).map((o) => o.org_id);
  const later = await some(after);
  return later.length > 0 || after === null ? later : some(null);
}

/** The next due entry of an organization that no other transaction holds, locked. */
export const nextDue = (tx: Tx, org: string) => row(tx, QueuedRow)`
  select kind, ref, grace_seconds from registry.gc_queue where org_id = ${org} and review_after <= (select kernel.now())
   order by review_after limit 1 for update skip locked`;

export const dequeue = (tx: Tx, { kind, ref }: QueuedRow) => run(tx)`delete from registry.gc_queue where kind = ${kind} and ref = ${ref}`;

export const postpone = (tx: Tx, { kind, ref }: QueuedRow, until: string) =>
  run(tx)`update registry.gc_queue set review_after = ${until}::timestamptz where kind = ${kind} and ref = ${ref}`;

/** Another transaction works on the row of this entry. */
export const postponeBusy = (tx: Tx, { kind, ref }: QueuedRow) =>
  run(tx)`update registry.gc_queue set review_after = kernel.now() + interval '30 seconds' where kind = ${kind} and ref = ${ref}`;

/** After a failure the entry comes back with exponential backoff, up to an hour. */
export const backOff = (tx: Tx, { kind, ref }: Pick<QueuedRow, 'kind' | 'ref'>) => run(tx)`
  update registry.gc_queue
     set tries = tries + 1, review_after = kernel.now() + make_interval(secs => least(3600, 5 * power(2, least(tries, 10))))
   where kind = ${kind} and ref = ${ref}`;

const BacklogRow = Type.Object({ waiting: Type.Integer(), oldest_seconds: Type.Number() });
export const queueFigures = async (tx: Tx) =>
  (
    await rows(tx, BacklogRow)`
    select count(*) as waiting, coalesce(extract(epoch from kernel.now() - min(review_after)), 0)::float8 as oldest_seconds
      from registry.gc_queue where review_after <= kernel.now()`
  )[0]!;
