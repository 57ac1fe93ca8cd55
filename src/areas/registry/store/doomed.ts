import Type from 'typebox';
import { row, rows, run, type Tx } from '../../../kernel/db/index.ts';
import { wake } from '../../../kernel/jobs/index.ts';
import { collectTask } from './queue.ts';
import { RepositoryRow } from './repositories.ts';

interface Purge {
  delaySeconds: number;
  graceSeconds?: 0;
  turn: number;
}

/** The next number in the common order of pushes and purges. */
export const nextTurn = async (tx: Tx) =>
  (await row(tx, Type.Object({ turn: Type.Integer() }))`select nextval('registry.turn') as turn`)!.turn;

/** Records the manifests that a purge has yet to check. */
export async function queueDoomed(tx: Tx, repository: RepositoryRow, digests: string[], { delaySeconds, graceSeconds, turn }: Purge) {
  if (digests.length === 0) return;
  await run(tx)`
    insert into registry.doomed_manifest as d (org_id, repository_id, digest, delay_seconds, grace_seconds, turn)
    select ${repository.org_id}, ${repository.id}, digest, ${delaySeconds}, ${graceSeconds ?? null}, ${turn}
      from unnest(${digests}::text[]) digest order by digest
    on conflict (repository_id, digest) do update
       set turn = excluded.turn, delay_seconds = excluded.delay_seconds, grace_seconds = excluded.grace_seconds where d.turn < excluded.turn`;
  wake(tx, collectTask);
}

const DoomedRow = Type.Object({
  org_id: Type.String(),
  repository_id: Type.Integer(),
  delay_seconds: Type.Integer(),
  grace_seconds: Type.Union([Type.Integer(), Type.Null()]),
  turn: Type.Integer(),
});

/** The first row of the next organization after this one, or of the first organization; none of `skipped` organizations. */
const lockFirst = (tx: Tx, afterOrg: string | null, skipped: readonly string[]) => row(tx, DoomedRow)`
  select org_id, repository_id, delay_seconds, grace_seconds, turn from registry.doomed_manifest
   where (${afterOrg}::text is null or org_id > ${afterOrg}) and org_id <> all(${skipped}::text[])
   order by org_id, repository_id, turn, digest limit 1 for update skip locked`;

/** Whose turn it is. */
export interface DoomedTurn {
  /** The organization that had the turn before. */
  after: string | null;
  /** Organizations that are left for later. */
  skipped: readonly string[];
  /** Called with the organization before anything can fail. */
  onTaken(org: string): void;
}

/**
 * Takes a batch of one repository and purge off the list, of the organization after the last one. Rows that another server holds are skipped.
 * `repository` undefined: it is being removed with its content.
 */
export async function takeDoomed(tx: Tx, limit: number, { after, skipped, onTaken }: DoomedTurn) {
  const first = (await lockFirst(tx, after, skipped)) ?? (after === null ? undefined : await lockFirst(tx, null, skipped));
  if (!first) return undefined;
  onTaken(first.org_id);
  const repository = await row(tx, RepositoryRow)`
    select r.id, r.org_id, r.registry_id, g.slug, r.name, r.upstream_host, g.immutable_tags
      from registry.repository r join registry.registry g on g.id = r.registry_id where r.id = ${first.repository_id}`;
  const taken = await rows(tx, Type.Object({ digest: Type.String() }))`
    with picked as (
      select digest from registry.doomed_manifest
       where org_id = ${first.org_id} and repository_id = ${first.repository_id} and turn = ${first.turn} and delay_seconds = ${first.delay_seconds}
         and grace_seconds is not distinct from ${first.grace_seconds}
       order by digest limit ${limit} for update skip locked)
    delete from registry.doomed_manifest d using picked where d.repository_id = ${first.repository_id} and d.digest = picked.digest
    returning d.digest`;
  const purge: Purge = {
    delaySeconds: first.delay_seconds,
    ...(first.grace_seconds === 0 ? { graceSeconds: 0 as const } : {}),
    turn: first.turn,
  };
  return { org: first.org_id, repository, digests: taken.map((d) => d.digest), purge };
}
