import type { Logger } from '../../../kernel/log.ts';
import { mostResults, type Result } from '../../../protocols/agent.ts';
import type { Clock } from '../clock.ts';
import { ServerRefusal } from './link.ts';
import { retryDelayMs } from './retry.ts';
import type { Spool } from './spool.ts';
import type { TimedBatch } from './spool-record.ts';

const everyMs = 1_000;
/** A server that has not taken a batch by then is away: from here on results are on the disk before anything else. */
const patienceMs = 3_000;
/** Snippets make a result a kilobyte; a batch of such is cut before it is half a thousand. */
const mostBatchBytes = 512 * 1024;
/** When not even the disk takes them. */
const mostInMemory = 120;

export interface OutboxOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly spool: Spool;
  readonly isDegraded: () => boolean;
  /** Resolves once the batch is stored for good. */
  readonly send: (batch: TimedBatch) => Promise<void>;
  /** The server does not know us (any more). */
  readonly onUnknown: () => void;
}

/**
 * Results on their way to the server: in batches, in order, one at a time, again until each is stored. While the server takes them they
 * are only in memory, so a prober that is killed loses what it saw in the last second or so; when it does not, they go to the disk.
 */
export interface Outbox {
  /** `at` by the clock that goes forward only. */
  add(result: Omit<Result, 'ageMs'>, at: number): void;
  /** The server has everything up to this number. */
  begin(seq: number): Promise<void>;
  /** Gives up whatever has not arrived. */
  forget(): Promise<void>;
  /** Everything arrives, or is on the disk. */
  finish(withinMs: number): Promise<void>;
}

export function makeOutbox({ clock, log, spool, isDegraded, send, onUnknown }: OutboxOptions): Outbox {
  let collected: { result: Omit<Result, 'ageMs'>; at: number }[] = [];
  let collectedBytes = 0;
  let seq = spool.lastSeq;
  let inMemory: { batch: TimedBatch; cutAt: number }[] = [];
  let beingWritten = 0;
  let hasBegun = false;
  let isStopped = false;
  let failures = 0;
  let wake = () => {};

  const isSpooling = () => beingWritten > 0 || !spool.isEmpty;

  async function write(batch: TimedBatch) {
    beingWritten++;
    try {
      await spool.append(batch);
    } catch (err) {
      log.error({ err, results: batch.results.length }, 'results cannot be written to the disk; they are lost');
    } finally {
      beingWritten--;
      wake();
    }
  }

  /** In order: whatever is cut from now on is written after these. */
  async function spill() {
    const batches = inMemory;
    inMemory = [];
    await Promise.all(batches.map(({ batch }) => write(batch)));
  }

  function cut() {
    if (collected.length === 0) return;
    const sinceBoot = clock.sinceBoot();
    const now = clock.now();
    const results = collected.map(({ result, at }) => ({ ...result, at: sinceBoot - (now - at) }));
    collected = [];
    collectedBytes = 0;
    const batch = { seq: ++seq, degraded: isDegraded(), results };
    if (isSpooling()) return void write(batch);
    inMemory.push({ batch, cutAt: now });
    if (inMemory.length > mostInMemory) inMemory.shift();
    wake();
  }

  /** Sooner or later, whatever the sender is waiting for. */
  let cancelBeat = () => {};
  const beat = () => {
    cut();
    if (inMemory[0] !== undefined && clock.now() - inMemory[0].cutAt >= patienceMs) void spill();
    cancelBeat = clock.at(clock.now() + everyMs, beat);
  };
  cancelBeat = clock.at(clock.now() + everyMs, beat);

  const next = async (): Promise<TimedBatch | undefined> => {
    if (!spool.isEmpty) return spool.first();
    return beingWritten > 0 ? undefined : inMemory[0]?.batch;
  };
  const arrived = async (upTo: number) => {
    inMemory = inMemory.filter(({ batch }) => batch.seq > upTo);
    await spool.delivered(upTo);
  };

  async function sendAll() {
    while (!isStopped) {
      const woken = new Promise<void>((resolve) => {
        wake = resolve;
      });
      const batch = hasBegun ? await next() : undefined;
      if (batch === undefined) {
        await woken;
        continue;
      }
      const waitMs = await deliver(batch);
      if (waitMs > 0) await until(waitMs);
    }
  }

  /** How long to wait before the next one. */
  async function deliver(batch: TimedBatch): Promise<number> {
    try {
      await send(batch);
      if (failures > 0) log.info({ batch: batch.seq }, 'the server takes results again');
      failures = 0;
      await arrived(batch.seq);
      return 0;
    } catch (err) {
      const status = err instanceof ServerRefusal ? err.status : 0;
      if (isPoison(status)) {
        log.error({ err, batch: batch.seq, results: batch.results.length }, 'the server refuses a batch for good; it is left out');
        await arrived(batch.seq);
        return 0;
      }
      if (failures++ === 0) log.warn({ err }, 'the server does not take results; checks go on, and are kept until it does');
      if (status === 404 || status === 409 || status === 410) onUnknown();
      return retryDelayMs(failures, status);
    }
  }

  const waiting = new Set<() => void>();
  const until = (ms: number) =>
    new Promise<void>((resolve) => {
      const end = () => {
        cancel();
        waiting.delete(end);
        resolve();
      };
      const cancel = clock.at(clock.now() + ms, end);
      waiting.add(end);
    });
  const stopWaiting = () => {
    for (const end of waiting) end();
  };
  void sendAll();

  return {
    add(result, at) {
      collected.push({ result, at });
      collectedBytes += 200 + (result.snippet?.length ?? 0) + (result.errorDetail?.length ?? 0);
      if (collected.length >= mostResults || collectedBytes >= mostBatchBytes) cut();
    },
    async begin(stored) {
      await spool.delivered(stored);
      seq = Math.max(seq, stored);
      hasBegun = true;
      stopWaiting();
      wake();
    },
    async forget() {
      collected = [];
      inMemory = [];
      await spool.clear();
    },
    async finish(withinMs) {
      cancelBeat();
      const deadline = clock.now() + withinMs;
      // Checks that nobody waits for any more may still end meanwhile.
      const isLeft = () => {
        cut();
        return inMemory.length > 0 || isSpooling();
      };
      while (isLeft() && clock.now() < deadline && failures === 0 && hasBegun) await until(20);
      isStopped = true;
      stopWaiting();
      wake();
      await spill();
      await spool.close();
    },
  };
}

/** Sent again it would be refused again, and everything behind it would wait for ever. */
const isPoison = (status: number) => status >= 400 && status < 500 && ![401, 403, 404, 408, 409, 410, 425, 429].includes(status);
