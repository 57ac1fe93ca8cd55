import { randomBytes } from 'node:crypto';
import type { Readable } from 'node:stream';
import { isAboutData } from '../../../../kernel/db/index.ts';
import { Refusal } from '../../../../kernel/errors.ts';
import { batchCalls } from '../../engine/batch-calls.ts';
import { retrySealed } from '../../engine/segments.ts';
import { largePrefix } from '../../outbound/engine/intake/prepare.ts';
import { inboundShares, smallMessageBytes } from '../rules/receiving.ts';
import { readReceived } from '../store/insert-arrivals.ts';
import { fullCooldownMs, type InboundBatchOptions, type RecentRefusals, rowOverheadBytes, type TakeResult, writeBatch } from './batch.ts';
import type { InboundIntakeOptions, InboundMessage } from './inbound-message.ts';

export interface InboundIntake {
  /** Resolves with the log id of the first row, once the message is on disk and in the log. Throws a Refusal with the reason otherwise. */
  take(message: InboundMessage): Promise<string>;
  /** Streams a large message into an object. */
  store(stream: Readable): Promise<{ key: string; bytes: number }>;
  /** Removes the object of a message that was not accepted. */
  discard(key: string): void;
  /** Whether the organization's quota was full for this sender in the last 30 s; or was full within a day and has no room for `bytes` now. */
  isFull(org: string, bytes: number, sender: string): Promise<boolean>;
}

/** After a refusal the quota is checked before DATA for this long: remote servers retry within hours. */
const refusalMemoryMs = 86_400_000;
/** Upper bound for the trace header that precedes a message. */
const maxTraceBytes = 1_024;
/** Minimum time between two batches: each costs the database about a millisecond, whatever its size. */
const minBatchIntervalMs = 20;

/** Accepts inbound mail in batches: one write, one sync and one transaction each. intake/index.ts does the same for outgoing mail. */
export function openInboundIntake(options: InboundIntakeOptions): InboundIntake {
  const { app } = options;
  const recentRefusals = makeRecentRefusals();
  const batch: InboundBatchOptions = { ...options, knownSegments: new Set<string>(), recentRefusals };
  const take = batchCalls(app, (messages: InboundMessage[]) => takeBatch(batch, messages), {
    name: 'email.reception',
    minIntervalMs: minBatchIntervalMs,
    orgsOf: ({ destinations: to }) => to.map(({ destination }) => destination.org),
  });
  return {
    async take(message) {
      const taken = await take(message);
      if ('error' in taken) throw taken.error;
      return taken.id;
    },
    async store(stream) {
      const key = `${largePrefix}/${randomBytes(1).toString('hex')}/${randomBytes(15).toString('hex')}`;
      const { size } = await app.storage.put(key, stream);
      return { key, bytes: size };
    },
    discard: (key) => {
      app.storage.remove(key).catch((err) => app.log.warn({ err, key }, 'the content of refused inbound mail is not removed yet'));
    },
    async isFull(org, bytes, sender) {
      if (
        recentRefusals.refusedWithin('full', org, fullCooldownMs) ||
        recentRefusals.refusedWithin('sender', `${org} ${sender}`, fullCooldownMs)
      )
        return true;
      if (!recentRefusals.refusedWithin('full', org, refusalMemoryMs) && !recentRefusals.refusedWithin('large', org, refusalMemoryMs))
        return false;
      const stored = await app.db.read((tx) => readReceived(tx, org));
      const shares = inboundShares(app.config.email_inbound_quota_bytes);
      return stored + bytes + maxTraceBytes + rowOverheadBytes > (bytes > smallMessageBytes ? shares.large : shares.small);
    },
  };
}

/** Remembers refusals, so that the next message is refused before its content is read. */
function makeRecentRefusals(): RecentRefusals {
  const noted = new Map<string, number>();
  return {
    note(what, name) {
      if (noted.size > 10_000) noted.clear();
      noted.set(`${what} ${name}`, performance.now());
    },
    refusedWithin: (what, name, ms) => performance.now() - (noted.get(`${what} ${name}`) ?? Number.NEGATIVE_INFINITY) < ms,
  };
}

async function takeBatch(options: InboundBatchOptions, messages: readonly InboundMessage[]): Promise<TakeResult[]> {
  try {
    return await retrySealed(options.spool, () => writeBatch(options, messages));
  } catch (error) {
    const isLast = messages.length === 1 || !isAboutData(error);
    if (isLast && !(error instanceof Refusal))
      options.app.log.warn({ err: error, messages: messages.length }, 'inbound mail was not accepted');
    throw error;
  }
}
