/**
 * Receiving: from a connection of a remote mail server to a recorded message and its webhook event.
 *
 * Actors: the MX listener (planes/mx, role `smtp`); the destination lookup, which decides at RCPT; the inbound intake (intake.ts, batch.ts), which
 * stores messages; the arrival reader of this file (roles `smtp` and `worker`), which leases them (claim-arrivals.ts), has them parsed in threads
 * (read-arrival.ts, clients/reader) and records them (record-results.ts).
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

import type { App } from '../../../../kernel/app.ts';
import { isUnavailable } from '../../../../kernel/db/index.ts';
import { runFor } from '../../../../kernel/fairness/index.ts';
import { clockMoved } from '../../../../kernel/jobs/index.ts';
import { arrivalsChannel } from '../../engine/channels.ts';
import type { InFlight } from '../../engine/in-flight.ts';
import { type ClaimLoop, makeClaimLoop } from '../../outbound/engine/queue/claim.ts';
import { renewIntervalMs } from '../../outbound/engine/queue/lease.ts';
import { makeReader, type Reader, type ReaderOptions } from '../clients/reader/index.ts';
import { releaseArrivals } from '../store/arrivals.ts';
import { type ClaimCursor, claimArrivals, releaseLeases, renewLeases } from './claim-arrivals.ts';
import { type LeasedArrival, makeInFlightArrivals } from './in-flight.ts';
import type { ArrivalWorker } from './inbound-message.ts';
import { ContentReader, type ContentReaderOptions } from './read-arrival.ts';
import { type RecorderOptions, ResultRecorder } from './record-results.ts';
import { makeResolve } from './resolve.ts';

export interface ArrivalReaderOptions extends ContentReaderOptions, RecorderOptions {
  app: App;
  node: string;
  reader?: Partial<ReaderOptions>;
}

/** Reads arrivals. Those in flight are leased by this process; the rest waits as rows. */
export interface ArrivalReader extends ArrivalWorker {
  readonly reader: Pick<Reader, 'threads' | 'ended'>;
  stop(): Promise<void>;
}

/** Stands in while this process reads no arrivals. */
export const noArrivalReader: ArrivalWorker = { reserve: () => false, release: () => {}, start: () => {} };

/** Delay before the next attempt when the bytes are missing or no slot was free. */
const retrySeconds = 60;

export const startArrivalReader = (options: ArrivalReaderOptions): ArrivalReader => new LeasingArrivalReader(options);

class LeasingArrivalReader implements ArrivalReader {
  readonly reader: Reader;
  readonly #options: ArrivalReaderOptions;
  readonly #inFlight: InFlight<LeasedArrival> = makeInFlightArrivals();
  readonly #contents: ContentReader;
  readonly #recorder: ResultRecorder;
  readonly #claimLoop: ClaimLoop;
  readonly #renewal: NodeJS.Timeout;
  readonly #unsubscribe: (() => void)[];
  readonly #cursor: ClaimCursor = { afterOrg: '', hasBacklog: false };
  #isStopping = false;

  constructor(options: ArrivalReaderOptions) {
    const { app } = options;
    this.#options = options;
    this.reader = makeReader({ resolve: makeResolve(app.dns), ...options.reader });
    this.#contents = new ContentReader(options, this.reader, this.#inFlight.freeSlots);
    this.#recorder = new ResultRecorder(options);
    this.#claimLoop = makeClaimLoop({ app }, () => this.#claim());
    this.#renewal = setInterval(() => void renewLeases(app, this.#inFlight), renewIntervalMs);
    this.#unsubscribe = [
      app.waker.subscribe(arrivalsChannel, this.#claimLoop.nudge),
      app.waker.subscribe(clockMoved, this.#claimLoop.nudge),
    ];
  }

  reserve(org: string): boolean {
    return this.#inFlight.reserve(org);
  }

  release(org: string): void {
    this.#inFlight.release(org);
  }

  start(arrivals: readonly LeasedArrival[]): void {
    const { app } = this.#options;
    if (this.#isStopping) return void releaseLeases(app, arrivals);
    for (const arrival of arrivals) {
      const kept = this.#inFlight.add(arrival);
      void runFor({ org: arrival.org_id, operation: 'email.read' }, () => this.#work(kept), app.watch);
    }
  }

  async stop(): Promise<void> {
    this.#inFlight.close();
    this.#isStopping = true;
    this.#recorder.stopRetrying();
    for (const forget of this.#unsubscribe) forget();
    clearInterval(this.#renewal);
    await this.#claimLoop.stop();
    await this.reader.stop();
    await this.#recorder.waitForPending();
    await releaseLeases(this.#options.app, [...this.#inFlight.items.values()]);
  }

  async #claim(): Promise<'more' | 'none' | 'full'> {
    const claimed = await claimArrivals(this.#options, this.#inFlight, this.#cursor);
    if (claimed === 'full') return 'full';
    if (this.#isStopping) {
      await releaseLeases(this.#options.app, claimed.found);
      return 'none';
    }
    for (const { org_id } of claimed.found) this.#inFlight.reserveClaimed(org_id);
    this.start(claimed.found);
    return claimed.mayBeMore ? 'more' : 'none';
  }

  async #work(arrival: LeasedArrival): Promise<void> {
    const { app } = this.#options;
    try {
      const result = await this.#contents.read(arrival);
      if (this.#isStopping) return;
      if (result) await this.#recorder.record(arrival, result);
      else await app.db.write((tx) => releaseArrivals(tx, [arrival], retrySeconds));
    } catch (error) {
      // The arrival is still a row, and is claimed again when the lease lapses.
      if (!isUnavailable(error)) app.log.warn({ err: error, message: arrival.message_id }, 'an arrival could not be recorded yet');
    } finally {
      // At a stop, `stop` releases all arrivals in flight, also those read too late.
      if (!this.#isStopping) this.#inFlight.remove(arrival);
      // A freed slot is worth a claim only if rows may wait for one.
      if (this.#cursor.hasBacklog) this.#claimLoop.nudge();
    }
  }
}
