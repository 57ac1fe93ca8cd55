import { createHash } from 'node:crypto';
import type { App } from '../../../../kernel/app.ts';
import type { Logger } from '../../../../kernel/log.ts';
import { now } from '../../../../kernel/time.ts';
import { algorithmOf } from '../../rules/names.ts';
import { topics } from '../../rules/topics.ts';
import { knownBlobIds, lostBlobs, registryIds, sampleBlobs } from '../../store/collect.ts';
import { enqueueReview } from '../../store/queue.ts';
import { dropEmptyRepositories } from '../../store/repositories.ts';
import { correctDrift } from '../quota.ts';
import type { Engine } from '../settings.ts';
import { countRepositories } from './figures.ts';

const daySeconds = 86_400;
const orphanBatchSize = 500;
const sample = { count: 10, maxBytes: 256 * 1024 * 1024 };

/** Compares the storage with the tables in both directions. */
export async function scrub({ app, settings }: Engine, signal: AbortSignal, log: Logger): Promise<void> {
  // Older than any upload that may still be continued, whatever lifetime the operator has set.
  const oldSeconds = daySeconds + Math.max(daySeconds, settings.uploadSeconds);
  const since = new Date(Date.parse(await app.db.read(now)) - oldSeconds * 1000);
  const swept = await app.storage.sweep(since);
  const orphans = await removeOrphans(app, since, signal);
  await app.db.write(async (tx) => {
    const lost = await lostBlobs(tx, 2 * daySeconds);
    await enqueueReview(
      tx,
      null,
      'blob',
      lost.map((b) => String(b.id)),
      0,
    );
    for (const id of await dropEmptyRepositories(tx, settings.gcDelaySeconds)) await app.caches.drop(tx, topics.repository(id));
  });
  for (const id of await app.db.read(registryIds)) {
    if (signal.aborted) return;
    try {
      if (await app.db.write((tx) => correctDrift(tx, id)))
        log.warn({ registry: id }, 'the figures of a registry were wrong and have been counted anew');
    } catch (error) {
      log.error({ err: error, registry: id }, 'the figures of a registry could not be counted; trying again at the next run');
    }
  }
  const wrong = await countRepositories(app, signal, false);
  if (wrong > 0) log.warn({ repositories: wrong }, 'the figures of repositories were wrong and have been counted anew');
  const bad = await verifySample(app, signal, log);
  if (swept + orphans + bad > 0) log.info({ swept, orphans, bad }, 'scrubbed the registry');
}

/** Objects without a row, left by a crash between the two. A young object may still get its row. */
async function removeOrphans(app: App, since: Date, signal: AbortSignal): Promise<number> {
  let removed = 0;
  let waiting: { id: number; key: string }[] = [];
  const settle = async () => {
    const known = await app.db.read((tx) =>
      knownBlobIds(
        tx,
        waiting.map((w) => w.id),
      ),
    );
    for (const { id, key } of waiting) {
      if (known.has(id)) continue;
      await app.storage.remove(key);
      removed++;
    }
    waiting = [];
  };
  for (const prefix of ['sha256/', 'sha512/']) {
    for await (const { key, modifiedAt } of app.storage.list(prefix)) {
      if (signal.aborted) return removed;
      const id = /^sha(?:256|512)\/[0-9a-f]{2}\/[0-9a-f]+\.(\d+)$/.exec(key)?.[1];
      if (id === undefined || modifiedAt >= since) continue;
      waiting.push({ id: Number(id), key });
      if (waiting.length >= orphanBatchSize) await settle();
    }
  }
  await settle();
  return removed;
}

/** Reads a few blobs back, so that damage on the disk is found by a log line before a pull finds it. */
async function verifySample(app: App, signal: AbortSignal, log: Logger): Promise<number> {
  let bad = 0;
  for (const blob of await app.db.read((tx) => sampleBlobs(tx, sample.count, sample.maxBytes))) {
    if (signal.aborted) break;
    const opened = await app.storage.open(blob.storage_key);
    const hash = createHash(algorithmOf(blob.digest));
    if (opened) for await (const chunk of opened.stream) hash.update(chunk);
    if (opened && `${algorithmOf(blob.digest)}:${hash.digest('hex')}` === blob.digest) continue;
    const still = (await app.db.read((tx) => knownBlobIds(tx, [blob.id]))).has(blob.id);
    if (!still) continue; // collected meanwhile
    bad++;
    log.error({ digest: blob.digest, key: blob.storage_key }, opened ? 'a stored blob is damaged' : 'a stored blob is missing');
  }
  return bad;
}
