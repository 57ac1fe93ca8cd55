import { wake } from '../../../../kernel/jobs/index.ts';
import { makeIds } from '../../../../kernel/time.ts';
import { foldAddress } from '../../rules/envelope.ts';
import { storyOf } from '../../rules/simulator.ts';
import { acceptBatch } from '../../store/accept.ts';
import { queueChannel } from '../queue/channel.ts';
import type { Born } from '../queue/index.ts';
import { leaseSeconds } from '../queue/lease.ts';
import { append, type BatchOptions, type Entry, makeRows, noteSegment, type Reserved, registerSegment } from './batch.ts';
import type { Verdict } from './judge.ts';
import { keysOf } from './live-keys.ts';

/** Something stands in the way of one of them: each must be judged. */
class NotAtOnce extends Error {}

type Accepted = Extract<Verdict, { ids: string[] }>;

/**
 * Accepts a batch of which nothing is refused, in one statement beside the write of its bytes; nearly all are such. False: nothing has
 * happened, and each must be judged (`writeBatch`). Of whoever had something refused lately nothing is written first.
 */
export async function acceptAtOnce(options: BatchOptions, batch: Entry[]): Promise<boolean> {
  if (batch.some((entry) => mustBeJudged(options, entry))) return false;
  const { app } = options;
  const queue = options.queue();
  const reserved: Reserved[] = [];
  const giveBack = () => {
    for (const { org, domain } of reserved.splice(0)) queue.release(org, domain);
  };
  let takeBack = async () => {};
  let done: { born: Born[]; beginning: string; segment: string | undefined };
  const endings = makeEndings(batch.reduce((sum, { prepared }) => sum + prepared.length, 0));
  const verdicts: Accepted[] = batch.map(({ prepared }) => ({
    ids: endings.splice(0, prepared.length),
    messages: [],
    replayed: false,
    suppressed: none,
  }));
  try {
    done = await app.db.write(async (tx) => {
      giveBack(); // a transaction that lost a race is run again
      await takeBack();
      const appended = append(options, batch, verdicts);
      const { segment } = appended;
      takeBack = appended.takeBack;
      const rows = makeRows({ ...options, queue }, batch, verdicts, appended.placeOf, { reserved, askedAt: performance.now() });
      if (rows.recipients.some(({ lease }) => lease === null)) wake(tx, queueChannel);
      const { messages, recipients } = rows;
      const whole = { ...askedBy(batch), dailyQuota: app.config.email_daily_quota, messages, recipients, leaseSeconds, segment };
      const [, accepted] = await Promise.all([registerSegment(tx, options, segment), acceptBatch(tx, whole)]);
      if (!accepted.is_accepted) throw new NotAtOnce();
      await appended.written;
      const { beginning, now } = accepted;
      return { born: rows.borns(accepted.recipients, now, beginning), beginning, segment };
    });
  } catch (error) {
    giveBack();
    if (!(error instanceof NotAtOnce)) throw error;
    await takeBack();
    return false;
  }
  noteSegment(options, done.segment);
  queue.begin(done.born);
  batch.forEach(({ handed, ...entry }, n) => {
    const messages = handed.submissions.map(({ messageId }, i) => ({ id: `${done.beginning}${verdicts[n]!.ids[i]}`, messageId }));
    entry.done({ messages, replayed: false });
  });
  return true;
}

const none: ReadonlySet<string> = new Set();

function mustBeJudged({ doubted }: BatchOptions, { handed: { submissions, idempotency } }: Entry): boolean {
  return (
    idempotency !== undefined ||
    doubted.has(submissions[0]!.org) ||
    submissions.some(({ envelope }) => envelope.some((address) => storyOf(address) === 'suppressed'))
  );
}

/** The random part of ids: the database knows what time it is, and puts it before them. */
const makeEndings = (count: number): string[] =>
  makeIds('msg', '1970-01-01T00:00:00Z', count).map((id) => id.slice('msg_0000000000'.length));

function askedBy(batch: Entry[]) {
  const submissions = batch.flatMap(({ handed }) => handed.submissions);
  const counts = new Map<string, number>();
  for (const { org, envelope } of submissions) counts.set(org, (counts.get(org) ?? 0) + envelope.length);
  const orgs = [...counts.keys()].sort();
  return {
    orgs,
    ...keysOf(submissions),
    counts: orgs.map((org) => counts.get(org)!),
    domains: [...new Set(submissions.map(({ domainId }) => domainId))],
    addresses: submissions.flatMap(({ org, envelope }) => envelope.map((address) => ({ org, folded: foldAddress(address) }))),
  };
}
