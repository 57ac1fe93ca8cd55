import { randomUUID } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import type { App } from '../../../../kernel/app.ts';
import { isUnavailable } from '../../../../kernel/db/index.ts';
import { makeFairSemaphore, runFor, TenantThrottled } from '../../../../kernel/fairness/index.ts';
import { clockMoved, mostOrgs } from '../../../../kernel/jobs/index.ts';
import type { Spool } from '../../../../kernel/spool/index.ts';
import { makeReader, type Reader, type ReaderOptions, type Reading, type ReadResult, unreadMail } from '../../clients/reader/index.ts';
import * as store from '../../store/receiving/arrivals.ts';
import { batchCalls } from '../batch-calls.ts';
import type { ReportEffect } from '../feedback/index.ts';
import type { InFlight } from '../in-flight.ts';
import { makeClaimLoop, maxPerClaim } from '../queue/claim.ts';
import { leaseSeconds, renewIntervalMs } from '../queue/lease.ts';
import { type LeasedArrival, makeInFlightArrivals } from './in-flight.ts';
import { type ArrivalWorker, arrivalsChannel } from './inbound-message.ts';
import { type ReadArrival, recordArrivals } from './record-arrivals.ts';
import { makeResolve } from './resolve.ts';

export interface ArrivalReaderOptions {
  app: App;
  spool: Spool;
  node: string;
  mailHost: string;
  /** Told of everything that is done. */
  onOutcome?(outcome: 'told' | 'report' | 'unreadable' | 'lost'): void;
  /** Told of every report that was applied: what became of its recipient. */
  onReport?(effect: ReportEffect): void;
  reader?: Partial<ReaderOptions>;
  /** For tests: how long a large one waits for its turn. */
  slotWaitMs?: number;
}

/** Reads what has arrived, and tells of it. What it works on is under its lease; the rest waits in rows. */
export interface ArrivalReader extends ArrivalWorker {
  readonly reader: Pick<Reader, 'threads' | 'ended'>;
  stop(): Promise<void>;
}

/** Nobody reads here now. */
export const noArrivalReader: ArrivalWorker = { reserve: () => false, release: () => {}, start: () => {} };

/** Of those that are larger than this, so many have their bytes in memory, and of one organization half of them. */
const sizeClasses = [
  { above: 1024 * 1024, slots: 2 },
  { above: 65_536, slots: 16 },
];
/** So often it is taken up; after that it is told with what is known without reading it: whatever reads it does not survive it. */
const maxReadAttempts = 5;
/** Until its bytes are looked for again, or its turn. */
const retrySeconds = 60;
/** What is read so soon after others were told of is told with the next: a batch costs the database some milliseconds, whatever is in it. */
const recordIntervalMs = 100;
/** Until what was read is told of again, when the database was away. */
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
      else await app.db.write((tx) => store.putBack(tx, [arrival], retrySeconds));
    } catch (error) {
      // It is still a row: whoever claims it when the lease lapses goes on.
      if (!isUnavailable(error)) app.log.warn({ err: error, message: arrival.message_id }, 'mail that arrived could not be told of yet');
    } finally {
      // What is held when we stop is given back then, with what was read too late.
      if (!isStopping) inFlight.remove(arrival);
      // Room is no reason to look if nothing waited for it.
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
  const unsubscribe = [app.waker.hear(arrivalsChannel, claimLoop.nudge), app.waker.hear(clockMoved, claimLoop.nudge)];
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
  /** Where the next turn begins: after this organization. */
  afterOrg: string;
  /** Rows may wait for room here: whenever there is some, it is worth a look. */
  hasBacklog: boolean;
}

/** Takes what waits, of organizations in turn. */
async function claimArrivals(
  { app, node }: ArrivalReaderOptions,
  inFlight: InFlight<LeasedArrival>,
  cursor: ClaimCursor,
): Promise<'full' | { found: LeasedArrival[]; mayBeMore: boolean }> {
  const { byOrg: running, maxPerOrg: perOrg } = inFlight;
  // What each organization may have depends on what the others have: so a claim is a part of the room, and the next one is judged anew.
  const limit = Math.min(inFlight.freeSlots, maxPerClaim);
  cursor.hasBacklog = true;
  if (limit === 0) return 'full';
  const found = await app.db.write(async (tx) => {
    const [, orgs] = await Promise.all([store.findByIndex(tx), store.findOrgs(tx, cursor.afterOrg)]);
    cursor.afterOrg = orgs.length < mostOrgs ? '' : orgs.at(-1)!;
    const wanted = { orgs, running, perOrg, limit, lease: randomUUID(), leaseSeconds, held: [...inFlight.items.keys()], node };
    return orgs.length ? store.claimArrivals(tx, wanted) : [];
  });
  cursor.hasBacklog = found.length > 0 || cursor.afterOrg !== '' || [...running.values()].some((count) => count >= perOrg);
  return { found, mayBeMore: found.length === limit || cursor.afterOrg !== '' };
}

/** Undefined: its bytes are not here now. */
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
      .catch((err: unknown) => app.log.warn({ err, message, key }, 'the content of mail that arrived could not be had')));
  if (!raw) {
    app.log.warn({ message, key }, 'the content of mail that arrived is not here; looking again');
    return undefined;
  }
  const { remoteIp: ip, helo, mailFrom: sender } = arrival.envelope;
  const reading: Reading = { kind: isReport ? 'report' : 'mail', raw, from: { ip, helo, sender }, mailHost };
  return reader.read(arrival.org_id, reading);
}

/** It waited for its turn in vain, and nobody has looked at it yet. */
function undefinedIfThrottled(error: unknown): undefined {
  if (!(error instanceof TenantThrottled)) throw error;
}

/** A database that is away is no reason to read it again: it is told of once it is back, unless another process has its lease by then. */
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

/** The database was there, but waited for a lock or worked for too long: soon it would do so again, and all who are told of together with it. */
const isStatementTimeout = (error: unknown) => ['55P03', '57014'].includes(String((error as { cause?: { code?: unknown } }).cause?.code));

async function recordBatch(options: ArrivalReaderOptions, read: readonly ReadArrival[]): Promise<undefined[]> {
  const { app, onOutcome, onReport } = options;
  const { recorded, reportEffects } = await app.db.write((tx) => recordArrivals(tx, app, read));
  for (const effect of reportEffects) onReport?.(effect);
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
    .catch((err) => app.log.warn({ err }, 'leases of mail that arrived could not be renewed'));
}

/** What was not read to its end is free for others at once. */
async function releaseLeases(app: App, inFlight: readonly LeasedArrival[]): Promise<void> {
  if (inFlight.length > 0) await app.db.write((tx) => store.putBack(tx, inFlight, 0)).catch(() => {});
}
