import { hintEach, wake } from '../../../../../kernel/jobs/index.ts';
import { makeIds } from '../../../../../kernel/time.ts';
import { queueChannel } from '../../../engine/channels.ts';
import { foldAddress } from '../../../rules/envelope.ts';
import { scenarioOf } from '../../rules/simulator.ts';
import { acceptBatch } from '../../store/accept.ts';
import { leaseSeconds } from '../queue/lease.ts';
import type { LeasedRecipient } from '../queue/types.ts';
import { appendToSpool, type BatchOptions, makeRows, type ReservedSlot, registerSegment, rememberSegment } from './batch.ts';
import type { Verdict } from './judge.ts';
import { keysOf } from './live-keys.ts';
import type { PendingSubmit } from './types.ts';

/** The statement refused the batch: each request must be judged. */
class NeedsJudging extends Error {}

type Accepted = Extract<Verdict, { ids: string[] }>;

/**
 * The fast path: accepts a batch in which nothing is refused, in one statement parallel to the write of its bytes. Nearly all batches are such.
 * False: nothing was written, and each request must be judged (`writeBatch`). An organization with a recent refusal skips the fast path.
 */
export async function acceptWholeBatch(options: BatchOptions, batch: PendingSubmit[]): Promise<boolean> {
  if (batch.some((entry) => mustBeJudged(options, entry))) return false;
  const { app } = options;
  const queue = options.queue();
  const reserved: ReservedSlot[] = [];
  const releaseReserved = () => {
    for (const { org, domain } of reserved.splice(0)) queue.release(org, domain);
  };
  let takeBack = async () => {};
  let committed: { leased: LeasedRecipient[]; beginning: string; segment: string | undefined };
  const idSuffixes = makeIdSuffixes(batch.reduce((sum, { prepared }) => sum + prepared.length, 0));
  const verdicts: Accepted[] = batch.map(({ prepared }) => ({
    ids: idSuffixes.splice(0, prepared.length),
    messages: [],
    replayed: false,
    suppressed: noneSuppressed,
  }));
  try {
    committed = await app.db.write(async (tx) => {
      releaseReserved(); // the database layer may run this transaction again
      await takeBack();
      const appended = appendToSpool(options, batch, verdicts);
      const { segment } = appended;
      takeBack = appended.takeBack;
      const rows = makeRows({ ...options, queue }, batch, verdicts, appended.positionOf, { reserved, askedAt: performance.now() });
      if (rows.recipients.some(({ lease }) => lease === null)) wake(tx, queueChannel);
      const { messages, recipients } = rows;
      hintEach(
        tx,
        messages.map(({ org_id }) => org_id),
        'email.message',
      );
      const input = { ...statementInputOf(batch), dailyQuota: app.config.email_daily_quota, messages, recipients, leaseSeconds, segment };
      const [, accepted] = await Promise.all([registerSegment(tx, options, segment), acceptBatch(tx, input)]);
      if (!accepted.is_accepted) throw new NeedsJudging();
      await appended.written;
      const { beginning, now } = accepted;
      return { leased: rows.leasedRecipients(accepted.recipients, now, beginning), beginning, segment };
    });
  } catch (error) {
    releaseReserved();
    if (!(error instanceof NeedsJudging)) throw error;
    await takeBack();
    return false;
  }
  rememberSegment(options, committed.segment);
  queue.start(committed.leased);
  batch.forEach(({ request, ...entry }, n) => {
    const messages = request.submissions.map(({ messageId }, i) => ({ id: `${committed.beginning}${verdicts[n]!.ids[i]}`, messageId }));
    entry.resolve({ messages, replayed: false });
  });
  return true;
}

const noneSuppressed: ReadonlySet<string> = new Set();

function mustBeJudged({ orgsToJudge }: BatchOptions, { request: { submissions, idempotency } }: PendingSubmit): boolean {
  return (
    idempotency !== undefined ||
    orgsToJudge.has(submissions[0]!.org) ||
    submissions.some(({ envelope }) => envelope.some((address) => scenarioOf(address) === 'suppressed'))
  );
}

/** The random part of ids. The database prefixes its own time. */
const makeIdSuffixes = (count: number): string[] =>
  makeIds('msg', '1970-01-01T00:00:00Z', count).map((id) => id.slice('msg_0000000000'.length));

function statementInputOf(batch: PendingSubmit[]) {
  const submissions = batch.flatMap(({ request }) => request.submissions);
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
