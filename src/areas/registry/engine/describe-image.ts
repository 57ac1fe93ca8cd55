import type { App } from '../../../kernel/app.ts';
import { gather } from '../../../kernel/buffers/growing-buffer.ts';
import type { Db, Tx } from '../../../kernel/db/index.ts';
import { attachingTags } from '../rules/attachments.ts';
import { contentsOf, type PurgePreview, platformOf, readLimits } from '../rules/image-contents.ts';
import { immutableIn } from '../rules/immutable.ts';
import { linkedBlob } from '../store/blobs.ts';
import * as store from '../store/images.ts';
import { parentOf } from '../store/removal.ts';
import type { RepositoryRow } from '../store/repositories.ts';

const previewLimits = { manifests: 500, rounds: 8 };

/**
 * Follows the rules of engine/purge.ts without its locks: what is listed or attached goes, unless a tag, another index or image keeps it, or
 * it once had a tag of its own.
 */
export async function previewPurge(tx: Tx, repository: RepositoryRow, image: store.ImageRow): Promise<PurgePreview> {
  const going = new Map([[image.digest, image.id]]);
  let isCut = false;
  for (let round = 0; ; round++) {
    const digests = [...going.keys()];
    const found = await store.purgeCandidates(tx, repository.id, digests, previewLimits.manifests + 1);
    const attaching = new Set(digests.flatMap(attachingTags));
    const next = found.filter(
      ({ tags, once_tagged, kept_by }) =>
        !once_tagged && tags.every((tag) => attaching.has(tag)) && kept_by.every((digest) => going.has(digest)),
    );
    isCut = found.length > previewLimits.manifests || going.size + next.length > previewLimits.manifests || round >= previewLimits.rounds;
    if (!next.length || isCut) break;
    for (const { digest, id } of next) going.set(digest, id);
  }
  const [freedBytes, listedBy] = await Promise.all([
    store.freedBytes(tx, repository.id, [...going.values()]),
    parentOf(tx, repository.id, image.digest),
  ]);
  const immutableTag = image.tags.find(immutableIn(repository.immutable_tags, repository.name));
  return { manifests: going.size, freedBytes, isCut, listedBy, immutableTag };
}

/** The platform of an image that is in no index, from its configuration. Undefined: not told, too large, or away. */
export async function readPlatform(
  { db, storage }: Pick<App, 'storage'> & { db: Pick<Db, 'read'> },
  repositoryId: number,
  body: Buffer,
): Promise<string | undefined> {
  const { config } = contentsOf(body);
  const blob = config && (await db.read((tx) => linkedBlob(tx, repositoryId, config)));
  if (!blob || blob.size > readLimits.configBytes) return undefined;
  const opened = await storage.open(blob.storage_key);
  return opened && platformOf(await gather(opened.stream));
}
