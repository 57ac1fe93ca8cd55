import { createHash } from 'node:crypto';
import type { Caches } from '../../../../kernel/cache.ts';
import type { Tx } from '../../../../kernel/db.ts';
import { tell } from '../../events.ts';
import { book } from '../../quota.ts';
import { isImmutable } from '../../rules/immutable.ts';
import type { Manifest } from '../../rules/manifest.ts';
import type { Algorithm } from '../../rules/names.ts';
import { holdLinks } from '../../store/blobs.ts';
import { holdManifests, insertTag, lockTag, manifestElsewhere, moveTag, putManifest } from '../../store/manifests.ts';
import type { RepositoryRow } from '../../store/repositories.ts';
import { topics } from '../../topics.ts';
import { OciError } from './errors.ts';

export interface Pushed {
  repository: RepositoryRow;
  digest: string;
  body: Buffer;
  parsed: Manifest;
  tags: readonly string[];
  by: string;
  /** A cached image: its layers come when somebody pulls them. */
  sparse?: boolean;
}

export const digestOf = (body: Buffer, algorithm: Algorithm) => `${algorithm}:${createHash(algorithm).update(body).digest('hex')}`;

/** Stores a manifest and moves its tags. Locks in this order: links, manifest, what it lists, tags by name, the registry's row. */
export async function storeManifest(tx: Tx, caches: Caches, pushed: Pushed): Promise<{ id: number }> {
  const { repository, digest, body, parsed, by } = pushed;
  if (!pushed.sparse) await requireBlobs(tx, repository, parsed);
  const put = { org: repository.org_id, repositoryId: repository.id, digest, body, pushedBy: by, parsed };
  const { id, fresh, retyped } = await putManifest(tx, put);
  const children = parsed.children.map((c) => c.digest);
  if ((fresh || retyped) && !pushed.sparse && children.length > 0) await holdManifests(tx, repository.id, children);
  // Its type is remembered under its tags as well.
  if (retyped) await caches.drop(tx, topics.repository(repository.id));

  const tags = [...new Set(pushed.tags)].sort();
  for (const tag of tags) await setTag(tx, caches, repository, tag, id);
  await tell(tx, {
    kind: 'push',
    org: repository.org_id,
    registryId: repository.registry_id,
    slug: repository.slug,
    repository: repository.name,
    digest,
    by,
    mediaType: parsed.mediaType,
    tags,
  });
  if (fresh) {
    const { id: repositoryId, registry_id } = repository;
    await book(tx, registry_id, { size: body.length, sign: 1, elsewhere: () => manifestElsewhere(tx, registry_id, repositoryId, digest) });
  }
  return { id };
}

/** Two first pushes of a tag both find nothing: the second to insert it looks again, and judges what the first has made. */
async function setTag(tx: Tx, caches: Caches, repository: RepositoryRow, tag: string, id: number) {
  for (;;) {
    const before = await lockTag(tx, repository.id, tag);
    if (!before) {
      if (await insertTag(tx, repository.id, tag, id)) return;
      continue;
    }
    if (before.manifest_id === id) return;
    if (isImmutable(repository.immutable_tags, repository.name, tag)) {
      throw new OciError('DENIED', `the tag ${tag} is immutable in this registry and stands for ${before.digest}; push under another tag`);
    }
    await moveTag(tx, repository.id, tag, id);
    return caches.drop(tx, topics.tag(repository.id, tag));
  }
}

async function requireBlobs(tx: Tx, repository: RepositoryRow, { blobs }: Manifest) {
  const held = new Set(
    (
      await holdLinks(
        tx,
        repository.id,
        blobs.map((b) => b.digest),
      )
    ).map((l) => l.digest),
  );
  const missing = blobs.filter((b) => !b.elsewhere && !held.has(b.digest)).map((b) => b.digest);
  if (missing.length > 0) {
    throw new OciError('MANIFEST_BLOB_UNKNOWN', `the repository lacks ${missing.length} blob(s) of the image; push them first`, {
      detail: missing.slice(0, 20).map((digest) => ({ digest })),
    });
  }
}
