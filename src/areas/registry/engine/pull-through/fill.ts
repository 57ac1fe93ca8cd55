import { createHash } from 'node:crypto';
import type { GuardResponse } from '../../../../kernel/guard/index.ts';
import type { Target } from '../../clients/upstream/client.ts';
import { UpstreamAway } from '../../rules/errors.ts';
import { algorithmOf } from '../../rules/names.ts';
import { quotaOf } from '../../store/quota.ts';
import type { RepositoryRow } from '../../store/repositories.ts';
import { evict, settledSeconds } from '../gc/evict.ts';
import type { Hashes } from '../push/hashes.ts';
import { commitBlob } from '../push/store-blob.ts';
import { freeOf } from '../quota.ts';
import { contentOf } from './content.ts';
import type { Spool } from './spool.ts';
import type { Upstreams } from './types.ts';

/** One blob on its way from an upstream. */
export interface Fill {
  repository: RepositoryRow;
  target: Target;
  digest: string;
  size: number;
  /** The answer whose body is the beginning of it. */
  first: GuardResponse;
  /** Where its readers are. */
  spool: Spool;
}

/** Passes a blob on to its readers, and keeps it when there is room. */
export async function fillCache(upstreams: Upstreams, fill: Fill): Promise<void> {
  const { app, client } = upstreams;
  const { repository, target, digest, size, first, spool } = fill;
  const hash = createHash(algorithmOf(digest));
  async function* passing(): AsyncGenerator<Buffer> {
    for await (const chunk of contentOf(client, target, digest, size, first)) {
      hash.update(chunk);
      await spool.write(chunk);
      yield chunk;
    }
  }
  // A registry without room still serves its readers; it just keeps nothing.
  const quota = await app.db.read((tx) => quotaOf(tx, repository.registry_id));
  const fits = quota && (freeOf(quota) >= size || (await evict(app, repository.registry_id, size, settledSeconds)));
  const uploadId = fits ? await app.storage.createUpload() : undefined;
  try {
    if (uploadId) await app.storage.append(uploadId, 0, passing());
    else for await (const _ of passing());
    const seen = `${algorithmOf(digest)}:${hash.digest('hex')}`;
    if (seen !== digest) throw new UpstreamAway(`the upstream ${target.host} sent content with the digest ${seen} for ${digest}`);
    spool.finish();
    if (uploadId) await commitBlob(upstreams, alreadyHashed(seen), repository, { uploadId, digest, size }, { cached: true });
  } catch (error) {
    if (uploadId) await app.storage.abort(uploadId).catch(() => {});
    throw error;
  }
}

/** The whole content was hashed on its way. */
const alreadyHashed = (digest: string): Hashes => ({
  begin: () => {},
  through: (_id, _offset, body) => body,
  digest: () => digest,
  forget: () => {},
});
