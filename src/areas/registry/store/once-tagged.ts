import Type from 'typebox';
import { row, run, type Tx } from '../../../kernel/db/index.ts';
import { canAttach } from '../rules/attachments.ts';
import type { RepositoryRow } from './repositories.ts';

// Which manifests had a tag that somebody took away or moved on. What was never tagged is reached by its index or image alone, and goes
// with it; what somebody once named may still be pulled by its digest.

/** Notes that a manifest has lost this tag. One that attaches it to an image names no image of its own. */
export async function noteOnceTagged(tx: Tx, repository: RepositoryRow, tag: string, digest: string): Promise<void> {
  if (canAttach(tag)) return;
  await run(tx)`
    insert into registry.once_tagged (org_id, repository_id, digest) values (${repository.org_id}, ${repository.id}, ${digest})
    on conflict do nothing`;
}

export const wasOnceTagged = async (tx: Tx, repositoryId: number, digest: string) =>
  (await row(tx, Type.Object({ yes: Type.Boolean() }))`
    select exists (select from registry.once_tagged where repository_id = ${repositoryId} and digest = ${digest}) as yes`)!.yes;

/** After the manifest itself: its last tag may have moved on a moment ago. */
export const forgetOnceTagged = (tx: Tx, repositoryId: number, digest: string) =>
  run(tx)`delete from registry.once_tagged where repository_id = ${repositoryId} and digest = ${digest}`;
