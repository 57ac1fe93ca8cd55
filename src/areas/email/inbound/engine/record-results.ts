import { setTimeout as sleep } from 'node:timers/promises';
import type { App } from '../../../../kernel/app.ts';
import { isUnavailable } from '../../../../kernel/db/index.ts';
import { batchCalls } from '../../engine/batch-calls.ts';
import type { ReportResult } from '../../outbound/engine/feedback/index.ts';
import type { ReadResult } from '../clients/reader/index.ts';
import type { LeasedArrival } from './in-flight.ts';
import { type ReadArrival, recordArrivals } from './record-arrivals.ts';

export interface RecorderOptions {
  app: App;
  /** Called for each finished arrival. */
  onOutcome?(outcome: 'told' | 'report' | 'unreadable' | 'lost'): void;
  /** Called for each applied report. */
  onReport?(result: ReportResult): void;
}

/** Minimum time between two batches of results: a batch costs the database some milliseconds, whatever its size. */
const recordIntervalMs = 100;
/** Delay before a result is recorded again after the database was unavailable. */
const recordRetryMs = 500;

/** Records read arrivals in batches. While the database is unavailable, results are kept in memory. */
export class ResultRecorder {
  readonly #recordBatched: (read: ReadArrival) => Promise<undefined>;
  readonly #pending = new Set<Promise<unknown>>();
  #isStopping = false;

  constructor(options: RecorderOptions) {
    this.#recordBatched = batchCalls(options.app, (read: ReadArrival[]) => recordBatch(options, read), {
      name: 'email.freeze',
      minIntervalMs: recordIntervalMs,
      isItemError: (error) => !isUnavailable(error),
    });
  }

  async record(arrival: LeasedArrival, result: ReadResult): Promise<void> {
    const pending = this.#retryWhileUnavailable({ arrival, result });
    this.#pending.add(pending);
    await pending.finally(() => this.#pending.delete(pending));
  }

  /** From now on a result that the database does not take is not retried. */
  stopRetrying(): void {
    this.#isStopping = true;
  }

  async waitForPending(): Promise<void> {
    await Promise.allSettled([...this.#pending]);
  }

  /** While the database is unavailable the result is kept and recorded later, unless another process holds the lease by then. */
  async #retryWhileUnavailable(read: ReadArrival): Promise<void> {
    for (;;) {
      try {
        await this.#recordBatched(read);
        return;
      } catch (error) {
        if (!isUnavailable(error) || isStatementTimeout(error) || this.#isStopping) throw error;
        await sleep(recordRetryMs);
      }
    }
  }
}

/** A lock or statement timeout: an immediate retry would time out again, together with the rest of its batch. */
const isStatementTimeout = (error: unknown) => ['55P03', '57014'].includes(String((error as { cause?: { code?: unknown } }).cause?.code));

async function recordBatch(options: RecorderOptions, read: readonly ReadArrival[]): Promise<undefined[]> {
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
