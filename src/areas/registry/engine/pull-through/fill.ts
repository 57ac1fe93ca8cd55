import { createHash } from 'node:crypto';
import { releaseBuffer } from '../../../../kernel/release-buffer.ts';
import type { Target } from '../../clients/upstream/client.ts';
import { UpstreamAway } from '../../rules/errors.ts';
import { algorithmOf } from '../../rules/names.ts';
import type { RepositoryRow } from '../../store/repositories.ts';
import type { Hashes } from '../push/hashes.ts';
import { commitBlob } from '../push/store-blob.ts';
import { contentOf, type Demand, type Wanted } from './content.ts';
import type { FillRoom } from './room.ts';
import type { Spool } from './spool.ts';
import type { Upstreams } from './types.ts';

/** One blob on its way from an upstream. */
export interface Fill extends Wanted {
  repository: RepositoryRow;
  /** Where its readers are. */
  spool: Spool;
  room: FillRoom;
  demand: Demand;
}

/** Passes a blob on to its readers, and keeps it. Both have their room. */
export async function fillCache(upstreams: Upstreams, fill: Fill): Promise<void> {
  const { app } = upstreams;
  const { repository, target, digest, size, spool, room } = fill;
  const { uploadId } = room;
  const hash = createHash(algorithmOf(digest));
  async function* passing(): AsyncGenerator<Buffer> {
    for await (const chunk of contentOf(upstreams.client, fill, fill.demand, upstreams.settings.slowestUpstream)) {
      const rest = app.watch.takeTurn();
      if (rest) await rest;
      hash.update(chunk);
      await spool.write(chunk);
      yield chunk;
      releaseBuffer(chunk);
    }
  }
  try {
    await app.storage.append(uploadId, 0, passing());
    const seen = `${algorithmOf(digest)}:${hash.digest('hex')}`;
    if (seen !== digest) throw wrongContent(target, seen, digest);
    spool.finish();
    await commitBlob(upstreams, alreadyHashed(seen), repository, { uploadId, digest, size }, { cached: true });
  } catch (error) {
    await app.storage.abort(uploadId).catch(() => {});
    throw error;
  } finally {
    await room.releaseStored();
  }
}

const wrongContent = ({ host }: Target, seen: string, digest: string) =>
  new UpstreamAway(`the upstream ${host} sent content with the digest ${seen} for ${digest}`);

/** Passes a range of a blob on to one reader as it comes, and keeps nothing: the registry has no room for it. What comes last is held
 *  back until the digest is proven, if that is in the range. */
export async function* passOn(
  upstreams: Upstreams,
  wanted: Wanted,
  range: { offset: number; length: number },
  demand: Demand,
): AsyncGenerator<Buffer> {
  const { target, digest, size } = wanted;
  const hash = createHash(algorithmOf(digest));
  const end = range.offset + range.length;
  let at = 0;
  let last: Buffer | undefined;
  for await (const chunk of contentOf(upstreams.client, wanted, demand, upstreams.settings.slowestUpstream)) {
    const rest = upstreams.app.watch.takeTurn();
    if (rest) await rest;
    hash.update(chunk);
    const piece = chunk.subarray(Math.max(0, range.offset - at), Math.max(0, end - at));
    at += chunk.length;
    if (piece.length > 0) {
      if (last) yield last;
      last = piece;
    }
    if (at >= end && end < size) break;
  }
  const seen = `${algorithmOf(digest)}:${hash.digest('hex')}`;
  if (end === size && seen !== digest) throw wrongContent(target, seen, digest);
  if (last) yield last;
}

/** The whole content was hashed on its way. */
const alreadyHashed = (digest: string): Hashes => ({
  begin: () => {},
  through: (_id, _offset, body) => body,
  digest: () => digest,
  forget: () => {},
});
