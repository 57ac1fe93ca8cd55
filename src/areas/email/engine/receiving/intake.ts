import { randomBytes } from 'node:crypto';
import type { Readable } from 'node:stream';
import { isAboutData } from '../../../../kernel/db/index.ts';
import { Refusal } from '../../../../kernel/errors.ts';
import { inboundShares, smallBytes } from '../../rules/receiving.ts';
import { readReceived } from '../../store/receiving/arrivals-taken.ts';
import { batchCalls } from '../batch-calls.ts';
import { largePrefix } from '../intake/prepare.ts';
import { retrySealed } from '../segments.ts';
import { fullCooldownMs, type InboundBatchOptions, type RecentRefusals, rowOverheadBytes, type TakeResult, writeBatch } from './batch.ts';
import type { InboundIntakeOptions, InboundMessage } from './inbound-message.ts';

export interface InboundIntake {
  /** The id in the log of the first message that it became, once it is on disk and in the log. Throws a Refusal that says why not. */
  take(message: InboundMessage): Promise<string>;
  /** A large message becomes an object while it comes in. */
  store(stream: Readable): Promise<{ key: string; bytes: number }>;
  /** Nobody was told that it was taken. */
  discard(key: string): void;
  /** Whether an organization had no room for mail of this sender a moment ago, or had none lately and has none for so many bytes now. */
  isFull(org: string, bytes: number, sender: string): Promise<boolean>;
}

/** So long it is asked about before a message comes: servers that heard of it come again within hours. */
const refusalMemoryMs = 86_400_000;
/** What is put before a message is no larger. */
const maxTraceBytes = 1_024;
/** A batch costs the database about a millisecond of its own: what comes so soon after the one before is gathered. */
const minBatchIntervalMs = 20;

/** Takes what arrives: one write, one sync and one transaction for all that came meanwhile. See intake/index.ts, which does so for what leaves. */
export function openInboundIntake(options: InboundIntakeOptions): InboundIntake {
  const { app } = options;
  const recentRefusals = makeRecentRefusals();
  const batch: InboundBatchOptions = { ...options, knownSegments: new Set<string>(), recentRefusals };
  const take = batchCalls(app, (messages: InboundMessage[]) => takeBatch(batch, messages), {
    ...{ name: 'email.reception', minIntervalMs: minBatchIntervalMs },
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
      app.storage.remove(key).catch((err) => app.log.warn({ err, key }, 'content of mail that was not taken is not removed yet'));
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
      return stored + bytes + maxTraceBytes + rowOverheadBytes > (bytes > smallBytes ? shares.large : shares.small);
    },
  };
}

/** What was refused lately, so that the next message is not read to its end for nothing. */
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
      options.app.log.warn({ err: error, messages: messages.length }, 'mail that arrived was not taken');
    throw error;
  }
}
