/**
 * Receiving: from a connection of a remote mail server to a recorded message and its webhook event.
 *
 * Actors: the MX listener (planes/mx, role `smtp`); the destination lookup, which decides at RCPT; the inbound intake (intake.ts, batch.ts), which
 * stores messages; the arrival reader of this file (roles `smtp` and `worker`), which has messages parsed in threads (clients/reader) and records them.
 *
 * Flow: RCPT → route, report (a return path of sent mail) or refusal → DATA → inbound intake: quotas by organization and sender, then one write, one
 * sync and one transaction per batch → 250. Each route of a message is one arrival row. The arrival reader leases rows: those just accepted if a
 * slot is free, the others by claims. A reader thread parses the message and judges SPF, DKIM, DMARC and ARC. `recordArrivals` then writes the
 * log row, emits the event to the route's endpoint or applies the report, and deletes the arrival, in one transaction.
 *
 * An arrival row waits, is leased (60 s, renewed every 20 s), and ends recorded. If its bytes are missing or no memory slot is free, it is tried again
 * after 60 s. After five attempts it is recorded unread, because every reader of it was killed.
 *
 * What survives:
 * - before COMMIT: the remote server got no 250 and sends again. If the answer to COMMIT is lost, it gets a temporary error, so the message may
 *   be recorded twice;
 * - after COMMIT: row and bytes survive a kill. Another process reads the arrival once the lease lapses; it is recorded once, under one id;
 * - an absent database: the read result is kept in memory and recorded once the database is back;
 * - a stop: arrivals in flight are released at once.
 */

import { randomUUID } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import type { App } from '../../../../kernel/app.ts';
import { isUnavailable } from '../../../../kernel/db/index.ts';
import { makeFairSemaphore, runFor, TenantThrottled } from '../../../../kernel/fairness/index.ts';
import { clockMoved, maxOrgsPerWalk } from '../../../../kernel/jobs/index.ts';
import type { Spool } from '../../../../kernel/spool/index.ts';
import { batchCalls } from '../../engine/batch-calls.ts';
import { arrivalsChannel } from '../../engine/channels.ts';
import type { InFlight } from '../../engine/in-flight.ts';
import type { ReportResult } from '../../outbound/engine/feedback/index.ts';
import { makeClaimLoop, maxPerClaim } from '../../outbound/engine/queue/claim.ts';
import { leaseSeconds, renewIntervalMs } from '../../outbound/engine/queue/lease.ts';
import { makeReader, type Reader, type ReaderOptions, type Reading, type ReadResult, unreadMail } from '../clients/reader/index.ts';
import * as store from '../store/arrivals.ts';
import { type LeasedArrival, makeInFlightArrivals } from './in-flight.ts';
import type { ArrivalWorker } from './inbound-message.ts';
import { type ReadArrival, recordArrivals } from './record-arrivals.ts';
import { makeResolve } from './resolve.ts';

export interface ArrivalReaderOptions {
  app: App;
  spool: Spool;
  node: string;
  mailHost: string;
  /** Called for each finished arrival. */
  onOutcome?(outcome: 'told' | 'report' | 'unreadable' | 'lost'): void;
  /** Called for each applied report. */
  onReport?(result: ReportResult): void;
  reader?: Partial<ReaderOptions>;
  /** For tests: how long a large message waits for a slot. */
  slotWaitMs?: number;
}

/** Reads arrivals. Those in flight are leased by this process; the rest waits as rows. */
export interface ArrivalReader extends ArrivalWorker {
  readonly reader: Pick<Reader, 'threads' | 'ended'>;
  stop(): Promise<void>;
}

/** Stands in while this process reads no arrivals. */
export const noArrivalReader: ArrivalWorker = { reserve: () => false, release: () => {}, start: () => {} };

/** Limits how many large messages are in memory at once; one organization has at most half of the slots. */
const sizeClasses = [
  { above: 1024 * 1024, slots: 2 },
  { above: 65_536, slots: 16 },
];
/** After this many attempts an arrival is recorded unread: every reader of it was killed. */
const maxReadAttempts = 5;
/** Delay before the next attempt when the bytes are missing or no slot was free. */
const retrySeconds = 60;
/** Minimum time between two batches of results: a batch costs the database some milliseconds, whatever its size. */
const recordIntervalMs = 100;
/** Delay before a result is recorded again after the database was unavailable. */
const recordRetryMs = 500;

const unreadableMail: ReadResult = { kind: 'mail', mail: unreadMail('it could not be read; its content is as it came') };

export function startArrivalReader(options: ArrivalReaderOptions): ArrivalReader {
  const { app } = options;
  const reader = makeReader({ resolve: makeResolve(app.dns), ...options.reader });
  const inFlight = makeInFlightArrivals();
  const sizeLimits = sizeClasses.map(({ above, slots }) => ({
    above,
    semaphore: makeFairSemaphore({ slots, perOrg: slots / 2, maxWaitingPerOrg: inFlight.freeSlots, waitMs: options.slotWaitMs ?? 600_000 }),
  }));
  const recordBatched = batchCalls(app, (read: ReadArrival[]) => recordBatch(options, read), {
    ...{ name: 'email.freeze', minIntervalMs: recordIntervalMs },
    isItemError: (error) => !isUnavailable(error),
  });
  const pendingRecords = new Set<Promise<unknown>>();
  const cursor = { afterOrg: '', hasBacklog: false };
  let isStopping = false;

  const recordResult = async (arrival: LeasedArrival, result: ReadResult) => {
    const pending = retryWhileUnavailable(
      () => recordBatched({ arrival, result }),
      () => isStopping,
    );
    pendingRecords.add(pending);
    await pending.finally(() => pendingRecords.delete(pending));
  };
  const work = async (arrival: LeasedArrival) => {
    try {
      const read = () => readArrival(options, reader, arrival);
      const sizeLimit = sizeLimits.find(({ above }) => arrival.body_bytes > above);
      const result = sizeLimit ? await sizeLimit.semaphore.run(arrival.org_id, read).catch(undefinedIfThrottled) : await read();
      if (isStopping) return;
      if (result) await recordResult(arrival, result);
      else await app.db.write((tx) => store.releaseArrivals(tx, [arrival], retrySeconds));
    } catch (error) {
      // The arrival is still a row, and is claimed again when the lease lapses.
      if (!isUnavailable(error)) app.log.warn({ err: error, message: arrival.message_id }, 'an arrival could not be recorded yet');
    } finally {
      // At a stop, `stop` releases all arrivals in flight, also those read too late.
      if (!isStopping) inFlight.remove(arrival);
      // A freed slot is worth a claim only if rows may wait for one.
      if (cursor.hasBacklog) claimLoop.nudge();
    }
  };
  const start = (arrivals: readonly LeasedArrival[]) => {
    if (isStopping) return void releaseLeases(app, arrivals);
    for (const arrival of arrivals) {
      const kept = inFlight.add(arrival);
      void runFor({ org: arrival.org_id, operation: 'email.read' }, () => work(kept), app.watch);
    }
  };
  const claimLoop = makeClaimLoop({ app }, async () => {
    const claimed = await claimArrivals(options, inFlight, cursor);
    if (claimed === 'full') return 'full';
    if (isStopping) {
      await releaseLeases(app, claimed.found);
      return 'none';
    }
    for (const { org_id } of claimed.found) inFlight.reserveClaimed(org_id);
    start(claimed.found);
    return claimed.mayBeMore ? 'more' : 'none';
  });
  const renewal = setInterval(() => void renewLeases(app, inFlight), renewIntervalMs);
  const unsubscribe = [app.waker.subscribe(arrivalsChannel, claimLoop.nudge), app.waker.subscribe(clockMoved, claimLoop.nudge)];
  return {
    reader,
    reserve: inFlight.reserve,
    release: inFlight.release,
    start,
    async stop() {
      inFlight.close();
      isStopping = true;
      for (const forget of unsubscribe) forget();
      clearInterval(renewal);
      await claimLoop.stop();
      await reader.stop();
      await Promise.allSettled([...pendingRecords]);
      await releaseLeases(app, [...inFlight.items.values()]);
    },
  };
}

interface ClaimCursor {
  /** The next claim begins after this organization. */
  afterOrg: string;
  /** Rows may wait for a free slot here, so a freed slot is worth a claim. */
  hasBacklog: boolean;
}

/** Leases waiting arrivals, organizations in turn. */
async function claimArrivals(
  { app, node }: ArrivalReaderOptions,
  inFlight: InFlight<LeasedArrival>,
  cursor: ClaimCursor,
): Promise<'full' | { found: LeasedArrival[]; mayBeMore: boolean }> {
  const { byOrg: running, maxPerOrg: perOrg } = inFlight;
  // The limit per organization depends on what the others hold, so one claim takes only part of the free slots.
  const limit = Math.min(inFlight.freeSlots, maxPerClaim);
  cursor.hasBacklog = true;
  if (limit === 0) return 'full';
  const found = await app.db.write(async (tx) => {
    const [, orgs] = await Promise.all([store.disableSeqScan(tx), store.findOrgs(tx, cursor.afterOrg)]);
    cursor.afterOrg = orgs.length < maxOrgsPerWalk ? '' : orgs.at(-1)!;
    const wanted = { orgs, running, perOrg, limit, lease: randomUUID(), leaseSeconds, held: [...inFlight.items.keys()], node };
    return orgs.length ? store.claimArrivals(tx, wanted) : [];
  });
  cursor.hasBacklog = found.length > 0 || cursor.afterOrg !== '' || [...running.values()].some((count) => count >= perOrg);
  return { found, mayBeMore: found.length === limit || cursor.afterOrg !== '' };
}

/** Undefined: the bytes are not available now. */
async function readArrival(
  { app, spool, mailHost }: ArrivalReaderOptions,
  reader: Reader,
  arrival: LeasedArrival,
): Promise<ReadResult | undefined> {
  const isReport = arrival.route_id === null;
  const fallback: ReadResult = isReport ? { kind: 'report', report: { kind: 'other', recipients: [] } } : unreadableMail;
  if (arrival.attempts > maxReadAttempts) return fallback;
  const { message_id: message, body_key: key, body_offset: offset, body_bytes: bytes } = arrival;
  const raw =
    arrival.raw ??
    (await spool
      .read({ key, offset, bytes })
      .then((stream) => stream && buffer(stream))
      .catch((err: unknown) => app.log.warn({ err, message, key }, 'the content of an arrival could not be read')));
  if (!raw) {
    app.log.warn({ message, key }, 'the content of an arrival is not available; retrying');
    return undefined;
  }
  const { remoteIp: ip, helo, mailFrom: sender } = arrival.envelope;
  const reading: Reading = { kind: isReport ? 'report' : 'mail', raw, from: { ip, helo, sender }, mailHost };
  return reader.read(arrival.org_id, reading);
}

/** No slot became free in time; the arrival was not read. */
function undefinedIfThrottled(error: unknown): undefined {
  if (!(error instanceof TenantThrottled)) throw error;
}

/** While the database is unavailable the result is kept and recorded later, unless another process holds the lease by then. */
async function retryWhileUnavailable(recordResult: () => Promise<unknown>, isStopping: () => boolean): Promise<void> {
  for (;;) {
    try {
      await recordResult();
      return;
    } catch (error) {
      if (!isUnavailable(error) || isStatementTimeout(error) || isStopping()) throw error;
      await sleep(recordRetryMs);
    }
  }
}

/** A lock or statement timeout: an immediate retry would time out again, together with the rest of its batch. */
const isStatementTimeout = (error: unknown) => ['55P03', '57014'].includes(String((error as { cause?: { code?: unknown } }).cause?.code));

async function recordBatch(options: ArrivalReaderOptions, read: readonly ReadArrival[]): Promise<undefined[]> {
  const { app, onOutcome, onReport } = options;
  const { recorded, reportResults } = await app.db.write((tx) => recordArrivals(tx, app, read));
  for (const result of reportResults) onReport?.(result);
  for (const { arrival, result } of read) onOutcome?.(recorded.has(arrival.id) ? outcomeLabel(result) : 'lost');
  return read.map(() => undefined);
}

function outcomeLabel(result: ReadResult): 'told' | 'report' | 'unreadable' {
  if (result.kind === 'report') return 'report';
  return result.mail.problem === null ? 'told' : 'unreadable';
}

async function renewLeases(app: App, inFlight: InFlight<LeasedArrival>): Promise<void> {
  const leased = [...inFlight.items.values()].map(({ id, lease }) => ({ id, lease, leaseSeconds }));
  if (leased.length === 0) return;
  await app.db
    .write((tx) => store.renewArrivals(tx, leased))
    .catch((err) => app.log.warn({ err }, 'leases of arrivals could not be renewed'));
}

/** Other processes may claim these arrivals at once. */
async function releaseLeases(app: App, inFlight: readonly LeasedArrival[]): Promise<void> {
  if (inFlight.length > 0) await app.db.write((tx) => store.releaseArrivals(tx, inFlight, 0)).catch(() => {});
}
