import type { App } from '../../../../../kernel/app.ts';
import type { Tx } from '../../../../../kernel/db/index.ts';
import { hintEach, wake } from '../../../../../kernel/jobs/index.ts';
import type { Spool, SpoolPosition } from '../../../../../kernel/spool/index.ts';
import { append } from '../../../../../kernel/steps.ts';
import { queueChannel } from '../../../engine/channels.ts';
import { retrySealed, SegmentSealed } from '../../../engine/segments.ts';
import { domainOf, foldAddress } from '../../../rules/envelope.ts';
import { addSegment } from '../../../store/segments.ts';
import { emitEvents } from '../../../webhooks/engine/emit-events.ts';
import * as store from '../../store/intake.ts';
import type { Queue } from '../queue/index.ts';
import { leaseSeconds, sendDeadlineAfter } from '../queue/lease.ts';
import type { LeasedRecipient } from '../queue/types.ts';
import type { Submission } from '../submission.ts';
import { loadFacts } from './facts.ts';
import { judge, type Verdict } from './judge.ts';
import type { Prepared } from './prepare.ts';
import type { PendingSubmit } from './types.ts';

export interface BatchOptions {
  app: App;
  spool: Spool;
  /** The node that has the segment on its disk. */
  node: string;
  /** This process's queue, or `noQueue`. */
  queue: () => Pick<Queue, 'reserve' | 'release' | 'start' | 'isSending'>;
  /** Segments whose row is committed. */
  knownSegments: Set<string>;
  /** Organizations whose last batch had a refusal or a suppressed recipient. They skip the fast path. */
  orgsToJudge: Set<string>;
}

/** One write and one sync for all bytes, and one transaction for all rows, both before any caller is answered. */
export const writeBatch = (options: BatchOptions, batch: PendingSubmit[]): Promise<void> =>
  retrySealed(options.spool, () => writeOnce(options, batch));

interface WrittenBatch {
  verdicts: Verdict[];
  leased: LeasedRecipient[];
  segment: string | undefined;
}

async function writeOnce(options: BatchOptions, batch: PendingSubmit[]): Promise<void> {
  const { app } = options;
  const queue = options.queue();
  const reserved: ReservedSlot[] = [];
  const releaseReserved = () => {
    for (const { org, domain } of reserved.splice(0)) queue.release(org, domain);
  };
  let result: WrittenBatch;
  try {
    result = await app.db.write(async (tx) => {
      releaseReserved(); // the database layer may run this transaction again
      const askedAt = performance.now();
      const facts = await loadFacts(tx, batch);
      const verdicts = judge(batch, facts, app.config.email_daily_quota);
      const { positionOf, segment, written } = appendToSpool(options, batch, verdicts);
      const rows = makeRows({ ...options, queue }, batch, verdicts, positionOf, { reserved, askedAt });
      const [, leased] = await Promise.all([
        registerSegment(tx, options, segment),
        insertRows(tx, facts.stamp.now, { batch, verdicts, rows, segment }),
      ]);
      if (leased.some(({ is_open }) => !is_open)) throw new SegmentSealed(segment!);
      await written;
      return { verdicts, leased: rows.leasedRecipients(leased, facts.stamp.now), segment };
    });
  } catch (error) {
    releaseReserved();
    throw error;
  }
  const { segment, verdicts, leased } = result;
  rememberSegment(options, segment);
  rememberRefusedOrgs(options, batch, verdicts);
  queue.start(leased);
  batch.forEach(({ resolve, reject, prepared }, n) => {
    const verdict = verdicts[n]!;
    if (!('ids' in verdict)) discardObjects(app, prepared);
    if ('refusal' in verdict) reject(verdict.refusal);
    else resolve({ messages: verdict.messages, replayed: verdict.replayed });
  });
}

/** A segment's row precedes the rows of its messages. */
export const registerSegment = async (tx: Tx, { knownSegments, node }: BatchOptions, segment: string | undefined): Promise<void> => {
  if (segment !== undefined && !knownSegments.has(segment)) await addSegment(tx, segment, node);
};

/** Called once the segment's row is committed. */
export function rememberSegment({ knownSegments }: BatchOptions, segment: string | undefined): void {
  if (segment === undefined || knownSegments.has(segment)) return;
  knownSegments.clear(); // earlier segments get no further batches
  knownSegments.add(segment);
}

/** An organization with a refusal is judged first in its next batch, until a batch of its messages is accepted whole. */
function rememberRefusedOrgs({ orgsToJudge }: BatchOptions, batch: PendingSubmit[], verdicts: Verdict[]): void {
  const orgOf = (n: number) => batch[n]!.request.submissions[0]!.org;
  verdicts.forEach((_, n) => void orgsToJudge.delete(orgOf(n)));
  verdicts.forEach((verdict, n) => {
    if ('refusal' in verdict || ('ids' in verdict && verdict.suppressed.size > 0)) orgsToJudge.add(orgOf(n));
  });
}

/** Appends the bytes of accepted messages only: refusals and replayed answers cost no disk. */
export function appendToSpool({ spool }: BatchOptions, batch: PendingSubmit[], verdicts: Verdict[]) {
  const inline = batch.flatMap(({ prepared }, n) => ('ids' in verdicts[n]! ? prepared.filter((p) => p.inline) : []));
  const { positions, written, takeBack } = inline.length
    ? spool.append(inline.map((p) => p.inline!))
    : { positions: [] as SpoolPosition[], written: Promise.resolve(), takeBack: async () => {} };
  written.catch(() => {}); // awaited before COMMIT, unless a statement fails first
  return { positionOf: new Map(inline.map((p, n) => [p, positions[n]!])), segment: positions[0]?.key, written, takeBack };
}

/** A large message is an object before it is judged. The orphan sweep removes what this misses within a day. */
function discardObjects({ storage, log }: App, prepared: Prepared[]): void {
  for (const { key } of prepared)
    if (key)
      storage.remove(key).catch((error) => log.warn({ err: error, key }, 'content of mail that was not accepted is not removed yet'));
}

export interface Rows {
  messages: store.NewMessage[];
  recipients: store.NewRecipient[];
  /** The recipients that this process sends to, once row ids are known. `idPrefix` precedes the message ids chosen here. */
  leasedRecipients(
    inserted: readonly { id: number; message_id: string; address: string }[],
    at: string,
    idPrefix?: string,
  ): LeasedRecipient[];
}

/** Rows for accepted messages. Recipients that get an in-flight slot are inserted under this process's lease. */
export function makeRows(
  options: WithChosenQueue,
  batch: PendingSubmit[],
  verdicts: Verdict[],
  positionOf: ReadonlyMap<Prepared, SpoolPosition>,
  { reserved, askedAt }: { reserved: ReservedSlot[]; askedAt: number },
): Rows {
  const sendDeadline = sendDeadlineAfter(askedAt);
  const messages: store.NewMessage[] = [];
  const recipients: store.NewRecipient[] = [];
  const leasedByKey = new Map<string, UnsavedRecipient>();
  batch.forEach(({ prepared, lease }, n) => {
    const verdict = verdicts[n]!;
    if (!('ids' in verdict)) return;
    prepared.forEach((each, i) => {
      const id = verdict.ids[i]!;
      const position = positionOf.get(each) ?? { key: each.key!, offset: 0, bytes: each.bytes };
      const own = each.submission.envelope.map((address) => {
        const isSuppressed = verdict.suppressed.has(foldAddress(address));
        const isLeased = !isSuppressed && reserve(options, each.submission, address, reserved);
        if (isLeased) leasedByKey.set(`${id} ${address}`, unsavedRecipientOf(each, { address, position, lease, sendDeadline }));
        return recipientRow(each, { id, address, lease: isLeased ? lease : null, isSuppressed, node: each.key ? null : options.node });
      });
      append(recipients, own);
      messages.push(messageRow(each, id, position, own));
    });
  });
  return {
    messages,
    recipients,
    leasedRecipients: (inserted, at, idPrefix = '') =>
      inserted.flatMap(({ id, message_id, address }) => {
        const leased = leasedByKey.get(`${message_id.slice(idPrefix.length)} ${address}`);
        return leased ? [{ ...leased, id, messageId: message_id, leasedAt: at }] : [];
      }),
  };
}

/** One batch uses one queue, even if the queue starts or stops meanwhile. */
type WithChosenQueue = Omit<BatchOptions, 'queue'> & { queue: ReturnType<BatchOptions['queue']> };

export interface ReservedSlot {
  org: string;
  domain: string;
}

function reserve({ queue }: WithChosenQueue, { org, scheduledAt }: Submission, address: string, reserved: ReservedSlot[]): boolean {
  const domain = domainOf(address);
  if (scheduledAt || !queue.reserve(org, domain)) return false;
  reserved.push({ org, domain });
  return true;
}

type UnsavedRecipient = Omit<LeasedRecipient, 'id' | 'messageId' | 'leasedAt'>;

const unsavedRecipientOf = (
  { submission: { org, domainId }, headerBytes, bodyHash, inline }: Prepared,
  { address, position, lease, sendDeadline }: { address: string; position: SpoolPosition; lease: string; sendDeadline: number },
): UnsavedRecipient => ({
  lease,
  sendDeadline,
  org,
  domainId,
  address,
  tries: 0,
  position,
  headerBytes,
  bodyHash,
  ...(inline ? { inline } : {}),
});

const recipientRow = (
  { submission: { org, scheduledAt } }: Prepared,
  r: { id: string; address: string; lease: string | null; isSuppressed: boolean; node: string | null },
): store.NewRecipient => ({
  org_id: org,
  message_id: r.id,
  address: r.address,
  folded: foldAddress(r.address),
  state: r.isSuppressed ? 'suppressed' : r.lease ? 'sending' : 'queued',
  node: r.node,
  run_at: scheduledAt ?? null,
  lease: r.lease,
});

const messageRow = (
  { submission: s, headerBytes, bodyHash }: Prepared,
  id: string,
  position: SpoolPosition,
  own: readonly store.NewRecipient[],
): store.NewMessage => ({
  org_id: s.org,
  id,
  state: own.every((r) => r.state === 'suppressed') ? 'suppressed' : own.some((r) => r.state === 'sending') ? 'sending' : 'queued',
  scheduled_at: s.scheduledAt ?? null,
  door: s.door,
  domain_id: s.domainId,
  send_key_id: s.sendKeyId,
  sender: s.sender,
  recipients: s.recipients,
  copies: s.copies,
  subject: s.subject ?? null,
  message_id: s.messageId,
  tags: s.tags ?? null,
  body_key: position.key,
  body_offset: position.offset,
  body_bytes: position.bytes,
  header_bytes: headerBytes,
  body_hash: bodyHash.toString('hex'),
});

interface JudgedBatch {
  batch: PendingSubmit[];
  verdicts: Verdict[];
  rows: Rows;
  segment: string | undefined;
}

async function insertRows(tx: Tx, at: string, { batch, verdicts, rows: { messages, recipients }, segment }: JudgedBatch) {
  const made = batch.flatMap(
    (
      {
        request: {
          idempotency,
          submissions: [first],
        },
      },
      n,
    ) => {
      const verdict = verdicts[n]!;
      if (!idempotency || ('replayed' in verdict && verdict.replayed)) return [];
      return 'refusal' in verdict && !verdict.holdsIdempotencyKey
        ? []
        : [{ org: first!.org, key: idempotency.key, ids: 'ids' in verdict ? verdict.ids : [] }];
    },
  );
  if (recipients.some(({ state, lease }) => state === 'queued' && lease === null)) wake(tx, queueChannel);
  hintEach(
    tx,
    messages.map(({ org_id }) => org_id),
    'email.message',
  );
  const [leased] = await Promise.all([
    recipients.length ? store.insertBatch(tx, at, { messages, recipients, leaseSeconds, segment }) : [],
    made.length ? store.saveSubmissions(tx, made) : 0,
  ]);
  await emitEvents(tx, recipients.filter(({ state }) => state === 'suppressed').map(suppressedEventOf));
  return leased;
}

const suppressedEventOf = ({ org_id, message_id, address }: store.NewRecipient) => ({
  org: org_id,
  type: 'email.suppressed' as const,
  messageId: message_id,
  data: { recipient: address },
});
