import { createHash } from 'node:crypto';
import { releaseBuffer } from '../../../../kernel/buffers/release-buffer.ts';
import type { Target } from '../../clients/upstream/client.ts';
import { UpstreamUnavailable } from '../../rules/errors.ts';
import { algorithmOf } from '../../rules/names.ts';
import type { RepositoryRow } from '../../store/repositories.ts';
import type { Hashes } from '../push/hashes.ts';
import { commitBlob } from '../push/store-blob.ts';
import { type BlobDownload, downloadBlob, type ReaderDemand } from './download.ts';
import type { FillReservation } from './fill-reservation.ts';
import type { Spool } from './spool.ts';
import type { Upstreams } from './types.ts';

/** A blob being fetched into the cache. */
export interface Fill extends BlobDownload {
  repository: RepositoryRow;
  /** The file that its readers follow. */
  spool: Spool;
  reservation: FillReservation;
  demand: ReaderDemand;
}

/** Sends a blob to its readers and stores it. Both copies are reserved. */
export async function fillCache(upstreams: Upstreams, fill: Fill): Promise<void> {
  const { app } = upstreams;
  const { repository, target, digest, size, spool, reservation } = fill;
  const { uploadId } = reservation;
  const hash = createHash(algorithmOf(digest));
  async function* tee(): AsyncGenerator<Buffer> {
    for await (const chunk of downloadBlob(upstreams.client, fill, fill.demand, upstreams.settings.minUpstreamRate)) {
      const rest = app.watch.takeTurn();
      if (rest) await rest;
      hash.update(chunk);
      await spool.write(chunk);
      yield chunk;
      releaseBuffer(chunk);
    }
  }
  try {
    await app.storage.append(uploadId, 0, tee());
    const seen = `${algorithmOf(digest)}:${hash.digest('hex')}`;
    if (seen !== digest) throw wrongContent(target, seen, digest);
    spool.finish();
    await commitBlob(upstreams, alreadyHashed(seen), repository, { uploadId, digest, size }, { cached: true });
  } catch (error) {
    await app.storage.abort(uploadId).catch(() => {});
    throw error;
  } finally {
    await reservation.releaseStorage();
  }
}

const wrongContent = ({ host }: Target, seen: string, digest: string) =>
  new UpstreamUnavailable(`the upstream ${host} sent content with the digest ${seen} for ${digest}`);

/**
 * Sends a range of a blob to one reader and stores nothing, because the quota has no space for it. The last chunk is held back until the
 * digest is verified, if the range includes the end.
 */
export async function* passThrough(
  upstreams: Upstreams,
  download: BlobDownload,
  range: { offset: number; length: number },
  demand: ReaderDemand,
): AsyncGenerator<Buffer> {
  const { target, digest, size } = download;
  const hash = createHash(algorithmOf(digest));
  const end = range.offset + range.length;
  let at = 0;
  let last: Buffer | undefined;
  for await (const chunk of downloadBlob(upstreams.client, download, demand, upstreams.settings.minUpstreamRate)) {
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

/** The content was hashed while it was downloaded. */
const alreadyHashed = (digest: string): Hashes => ({
  begin: () => {},
  through: (_id, _offset, body) => body,
  digest: () => digest,
  forget: () => {},
});
