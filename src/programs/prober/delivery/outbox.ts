import type { Logger } from '../../../kernel/log.ts';
import { mostResults, type Result } from '../../../protocols/agent.ts';
import type { Clock } from '../clock.ts';
import { ServerRefusal } from './link.ts';
import { retryDelayMs } from './retry.ts';
import type { Spool } from './spool.ts';
import type { TimedBatch } from './spool-record.ts';

const tickMs = 1_000;
/** A server that has not acknowledged a batch by then counts as away: from then on batches go to the disk first. */
const spillAfterMs = 3_000;
/** A result with a snippet is about 1 KiB, so such a batch is cut before it reaches 500 results. */
const maxBatchBytes = 512 * 1024;
/** For when the disk fails too. */
const maxBatchesInMemory = 120;

export interface OutboxOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly spool: Spool;
  /** Numbers go on after this one, and after whatever is on the disk. */
  readonly after: number;
  readonly isDegraded: () => boolean;
  /** Resolves once the batch is stored for good. */
  readonly send: (batch: TimedBatch) => Promise<void>;
  /** The server does not know us (any more). */
  readonly onUnknown: () => void;
}

/**
 * Delivers results to the server in batches: in order, one at a time, each retried until it is stored. While the server acknowledges them,
 * batches are in memory only, so a killed prober loses about the last second. When it does not, they go to the disk.
 */
export interface Outbox {
  /** The newest number that a batch was given. */
  readonly seq: number;
  /** `at` by the clock that goes forward only. */
  add(result: Omit<Result, 'ageMs'>, at: number): void;
  /** The server has everything up to this number. */
  begin(seq: number): Promise<void>;
  /** Gives up whatever has not arrived. */
  forget(): Promise<void>;
  /** Everything arrives, or is on the disk. */
  finish(withinMs: number): Promise<void>;
}

/** The state of an outbox. */
interface OutboxState extends OutboxOptions {
  /** Not yet a batch. */
  collected: { readonly result: Omit<Result, 'ageMs'>; readonly at: number }[];
  collectedBytes: number;
  /** The newest number that a batch was given. */
  seq: number;
  inMemory: { readonly batch: TimedBatch; readonly cutAt: number }[];
  /** How many batches are on their way to the disk. */
  beingWritten: number;
  /** The server has said what it has. */
  hasBegun: boolean;
  isStopped: boolean;
  /** In a row. */
  failures: number;
  /** Ends the sender's wait for a batch. */
  wake: () => void;
  /** End pauses before their time. */
  readonly pauses: Set<() => void>;
  cancelTick: () => void;
}

export function makeOutbox(options: OutboxOptions): Outbox {
  const outbox: OutboxState = {
    ...options,
    collected: [],
    collectedBytes: 0,
    seq: Math.max(options.spool.lastSeq, options.after),
    inMemory: [],
    beingWritten: 0,
    hasBegun: false,
    isStopped: false,
    failures: 0,
    wake: () => {},
    pauses: new Set(),
    cancelTick: () => {},
  };
  scheduleTick(outbox);
  void sendAll(outbox);
  return {
    get seq() {
      return outbox.seq;
    },
    add: (result, at) => collect(outbox, result, at),
    begin: (stored) => begin(outbox, stored),
    forget: () => forget(outbox),
    finish: (withinMs) => finish(outbox, withinMs),
  };
}

// What is seen becomes batches

function collect(outbox: OutboxState, result: Omit<Result, 'ageMs'>, at: number) {
  outbox.collected.push({ result, at });
  outbox.collectedBytes += 200 + (result.snippet?.length ?? 0) + (result.errorDetail?.length ?? 0);
  if (outbox.collected.length >= mostResults || outbox.collectedBytes >= maxBatchBytes) cutBatch(outbox);
}

function cutBatch(outbox: OutboxState) {
  const { clock, collected, inMemory } = outbox;
  if (collected.length === 0) return;
  const sinceBoot = clock.sinceBoot();
  const now = clock.now();
  const results = collected.map(({ result, at }) => ({ ...result, at: sinceBoot - (now - at) }));
  outbox.collected = [];
  outbox.collectedBytes = 0;
  const batch = { seq: ++outbox.seq, degraded: outbox.isDegraded(), results };
  if (isSpooling(outbox)) return void write(outbox, batch);
  inMemory.push({ batch, cutAt: now });
  if (inMemory.length > maxBatchesInMemory) inMemory.shift();
  outbox.wake();
}

/** Runs every second, independent of the sender. */
function onTick(outbox: OutboxState) {
  const { clock } = outbox;
  cutBatch(outbox);
  const [oldest] = outbox.inMemory;
  if (oldest !== undefined && clock.now() - oldest.cutAt >= spillAfterMs) void spillToDisk(outbox);
  scheduleTick(outbox);
}

function scheduleTick(outbox: OutboxState) {
  const { clock } = outbox;
  outbox.cancelTick = clock.at(clock.now() + tickMs, () => onTick(outbox));
}

// Batches that the server does not take go to the disk

const isSpooling = ({ beingWritten, spool }: OutboxState) => beingWritten > 0 || !spool.isEmpty;

/** In order: batches that are cut later are written after these. */
async function spillToDisk(outbox: OutboxState) {
  const batches = outbox.inMemory;
  outbox.inMemory = [];
  await Promise.all(batches.map(({ batch }) => write(outbox, batch)));
}

async function write(outbox: OutboxState, batch: TimedBatch) {
  outbox.beingWritten++;
  try {
    await outbox.spool.append(batch);
  } catch (err) {
    outbox.log.error({ err, results: batch.results.length }, 'results cannot be written to the disk; they are lost');
  } finally {
    outbox.beingWritten--;
    outbox.wake();
  }
}

// Batches go to the server, the oldest first

async function sendAll(outbox: OutboxState) {
  while (!outbox.isStopped) {
    const woken = new Promise<void>((resolve) => {
      outbox.wake = resolve;
    });
    const batch = outbox.hasBegun ? await nextBatch(outbox) : undefined;
    if (batch === undefined) {
      await woken;
      continue;
    }
    const waitMs = await deliver(outbox, batch);
    if (waitMs > 0) await pause(outbox, waitMs);
  }
}

async function nextBatch({ spool, beingWritten, inMemory }: OutboxState): Promise<TimedBatch | undefined> {
  if (!spool.isEmpty) return spool.first();
  return beingWritten > 0 ? undefined : inMemory[0]?.batch;
}

/** How long to wait before the next one. */
async function deliver(outbox: OutboxState, batch: TimedBatch): Promise<number> {
  const { log } = outbox;
  try {
    await outbox.send(batch);
    if (outbox.failures > 0) log.info({ batch: batch.seq }, 'the server takes results again');
    outbox.failures = 0;
    await forgetDelivered(outbox, batch.seq);
    return 0;
  } catch (err) {
    const status = err instanceof ServerRefusal ? err.status : 0;
    if (isPoison(status)) {
      log.error({ err, batch: batch.seq, results: batch.results.length }, 'the server refuses a batch for good; it is left out');
      await forgetDelivered(outbox, batch.seq);
      return 0;
    }
    if (outbox.failures++ === 0) log.warn({ err }, 'the server does not take results; checks go on, and are kept until it does');
    if (status === 404 || status === 409 || status === 410) outbox.onUnknown();
    return retryDelayMs(outbox.failures, status);
  }
}

async function forgetDelivered(outbox: OutboxState, upTo: number) {
  outbox.inMemory = outbox.inMemory.filter(({ batch }) => batch.seq > upTo);
  await outbox.spool.delivered(upTo);
}

/** A retry would be refused again, and every batch behind it would wait forever. */
const isPoison = (status: number) => status >= 400 && status < 500 && ![401, 403, 404, 408, 409, 410, 425, 429].includes(status);

const pause = ({ clock, pauses }: OutboxState, ms: number) =>
  new Promise<void>((resolve) => {
    const end = () => {
      cancel();
      pauses.delete(end);
      resolve();
    };
    const cancel = clock.at(clock.now() + ms, end);
    pauses.add(end);
  });

/** Wakes the sender from any wait. */
function stopWaiting(outbox: OutboxState) {
  for (const end of outbox.pauses) end();
  outbox.wake();
}

// Its beginning and its end

async function begin(outbox: OutboxState, stored: number) {
  await outbox.spool.delivered(stored);
  outbox.seq = Math.max(outbox.seq, stored);
  outbox.hasBegun = true;
  stopWaiting(outbox);
}

async function forget(outbox: OutboxState) {
  outbox.collected = [];
  outbox.inMemory = [];
  await outbox.spool.clear();
}

async function finish(outbox: OutboxState, withinMs: number) {
  const { clock, spool } = outbox;
  outbox.cancelTick();
  const deadline = clock.now() + withinMs;
  // Checks that outlasted the grace period may still end meanwhile.
  const isLeft = () => {
    cutBatch(outbox);
    return outbox.inMemory.length > 0 || isSpooling(outbox);
  };
  while (isLeft() && clock.now() < deadline && outbox.failures === 0 && outbox.hasBegun) await pause(outbox, 20);
  outbox.isStopped = true;
  stopWaiting(outbox);
  await spillToDisk(outbox);
  await spool.close();
}
