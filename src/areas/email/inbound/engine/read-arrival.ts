import { buffer } from 'node:stream/consumers';
import type { App } from '../../../../kernel/app.ts';
import { type FairSemaphore, makeFairSemaphore, TenantThrottled } from '../../../../kernel/fairness/index.ts';
import type { Spool } from '../../../../kernel/spool/index.ts';
import { type Reader, type Reading, type ReadResult, unreadMail } from '../clients/reader/index.ts';
import type { LeasedArrival } from './in-flight.ts';

export interface ContentReaderOptions {
  app: App;
  spool: Spool;
  mailHost: string;
  /** For tests: how long a large message waits for a slot. */
  slotWaitMs?: number;
}

/** Limits how many large messages are in memory at once; one organization has at most half of the slots. */
const sizeClasses = [
  { above: 1024 * 1024, slots: 2 },
  { above: 65_536, slots: 16 },
];
/** After this many attempts an arrival is recorded unread: every reader of it was killed. */
const maxReadAttempts = 5;
const unreadableMail: ReadResult = { kind: 'mail', mail: unreadMail('it could not be read; its content is as it came') };

/** Reads the content of arrivals in reader threads. Large messages wait for a memory slot. */
export class ContentReader {
  readonly #options: ContentReaderOptions;
  readonly #reader: Reader;
  readonly #sizeLimits: { above: number; semaphore: FairSemaphore }[];

  constructor(options: ContentReaderOptions, reader: Reader, maxWaitingPerOrg: number) {
    const { slotWaitMs: waitMs = 600_000 } = options;
    this.#options = options;
    this.#reader = reader;
    this.#sizeLimits = sizeClasses.map(({ above, slots }) => ({
      above,
      semaphore: makeFairSemaphore({ slots, perOrg: slots / 2, maxWaitingPerOrg, waitMs }),
    }));
  }

  /** Undefined: the bytes are not available now, or no memory slot became free in time. */
  read(arrival: LeasedArrival): Promise<ReadResult | undefined> {
    const sizeLimit = this.#sizeLimits.find(({ above }) => arrival.body_bytes > above);
    if (!sizeLimit) return this.#readNow(arrival);
    return sizeLimit.semaphore.run(arrival.org_id, () => this.#readNow(arrival)).catch(undefinedIfThrottled);
  }

  /** Undefined: the bytes are not available now. */
  async #readNow(arrival: LeasedArrival): Promise<ReadResult | undefined> {
    const { app, spool, mailHost } = this.#options;
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
    return this.#reader.read(arrival.org_id, reading);
  }
}

/** No slot became free in time; the arrival was not read. */
function undefinedIfThrottled(error: unknown): undefined {
  if (!(error instanceof TenantThrottled)) throw error;
}
