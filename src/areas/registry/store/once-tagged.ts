import Type from 'typebox';
import { row, run, type Tx } from '../../../kernel/db/index.ts';
import { canAttach } from '../rules/attachments.ts';
import type { RepositoryRow } from './repositories.ts';

// Manifests that lost a tag by deletion or by a move. A manifest that never had a tag is reachable only through its index or image and goes
// with it. One that had a tag may still be pulled by digest.

/** Records that a manifest lost this tag. A tag that only attaches it to an image does not count. */
export async function noteOnceTagged(tx: Tx, repository: RepositoryRow, tag: string, digest: string): Promise<void> {
  if (canAttach(tag)) return;
  await run(tx)`
    insert into registry.once_tagged (org_id, repository_id, digest) values (${repository.org_id}, ${repository.id}, ${digest})
    on conflict do nothing`;
}

export const wasOnceTagged = async (tx: Tx, repositoryId: number, digest: string) =>
  (await row(tx, Type.Object({ yes: Type.Boolean() }))`
    select exists (select from registry.once_tagged where repository_id = ${repositoryId} and digest = ${digest}) as yes`)!.yes;

/** After deleting the manifest: its last tag may have moved a moment ago. */
export const forgetOnceTagged = (tx: Tx, repositoryId: number, digest: string) =>
  run(tx)`delete from registry.once_tagged where repository_id = ${repositoryId} and digest = ${digest}`;
