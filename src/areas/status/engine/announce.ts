import type { Db, Tx } from '../../../kernel/db/index.ts';
import { enqueueMany, job } from '../../../kernel/jobs/index.ts';
import { now } from '../../../kernel/time.ts';
import { incidentResolved, publicResolution, publicUpdate, updatePublished, updatesPublished } from '../../oncall/index.ts';
import { deleteAnnounced, jobsSince, listAnnounced, lockAnnounced, markAnnounced, reserveMailSlots } from '../store/announced.ts';
import { deleteAllowances, deleteHeldBack } from '../store/mail-allowances.ts';
import { listStatusPagesShowing } from '../store/status-pages.ts';
import { deleteUnconfirmed, listSubscribersSince } from '../store/subscribers.ts';
import { sendResolution, sendUpdate } from './mails.ts';

/** What is older was announced, or its time has passed: nobody wants yesterday's alarm. */
const recentHours = 24;
const keepDays = 7;
/** So many subscribers have their mails queued in one transaction. */
export const batchSize = 500;
/** Of all pages of one organization: the lane for mails is everybody's. */
const mailsPerSecond = 20;

/** What subscribers are told of: an update, or that an incident is over. */
interface AnnouncedEvent {
  serviceId: string;
  at: string;
}

type EnqueueMails = (tx: Tx, mails: { subscriberId: string; delaySeconds: number }[]) => Promise<unknown>;

/**
 * On-call leaves one of these with each update that it publishes. Safe to run twice, and to be killed: how far the subscribers have their
 * mails stands in the transaction that queues them.
 */
export const announceUpdate = job(updatePublished.kind, { lane: updatePublished.lane }, ({ db, key, org = '', signal }) => {
  const queue: EnqueueMails = (tx, mails) =>
    enqueueMany(
      tx,
      sendUpdate,
      mails.map(({ subscriberId, delaySeconds }) => ({
        key: `${key} ${subscriberId}`,
        org,
        delaySeconds,
        payload: { updateId: key, subscriberId },
      })),
    );
  return announceAll(db, signal, { org, id: key, find: (tx) => publicUpdate(tx, org, key), queue });
});

/** The same when an incident that the public knows of is resolved. An update that was published since has told its readers already. */
export const announceResolution = job(incidentResolved.kind, { lane: incidentResolved.lane }, ({ db, key, org = '', signal }) => {
  const queue: EnqueueMails = (tx, mails) =>
    enqueueMany(
      tx,
      sendResolution,
      mails.map(({ subscriberId, delaySeconds }) => ({
        key: `${key} ${subscriberId}`,
        org,
        delaySeconds,
        payload: { incidentId: key, subscriberId },
      })),
    );
  const find = async (tx: Tx) => {
    const over = await publicResolution(tx, org, key);
    return over?.isTold ? undefined : over;
  };
  return announceAll(db, signal, { org, id: key, find, queue });
});

interface Announcement {
  org: string;
  id: string;
  /** Undefined: there is nothing to tell any more. */
  find(tx: Tx): Promise<AnnouncedEvent | undefined>;
  queue: EnqueueMails;
}

async function announceAll(db: Db, signal: AbortSignal, what: Announcement): Promise<void> {
  while (await db.write((tx) => announceBatch(tx, what))) signal.throwIfAborted();
}

/** False: everybody has their mail. */
async function announceBatch(tx: Tx, { org, id, find, queue }: Announcement): Promise<boolean> {
  const { done, after_id: after } = await lockAnnounced(tx, org, id);
  if (done) return false;
  const news = await find(tx);
  const subscribers = news && (await isRecent(tx, news)) ? await subscribersOf(tx, org, news, after) : [];
  if (subscribers.length) {
    const wait = await reserveMailSlots(tx, org, subscribers.length, mailsPerSecond);
    await queue(
      tx,
      subscribers.map((s, i) => ({ subscriberId: s.id, delaySeconds: wait + i / mailsPerSecond })),
    );
  }
  const isLast = subscribers.length < batchSize;
  await markAnnounced(tx, org, id, { done: isLast, after: subscribers.at(-1)?.id ?? after });
  return !isLast;
}

const isRecent = async (tx: Tx, { at }: AnnouncedEvent) => Date.parse(await now(tx)) - Date.parse(at) < recentHours * 3_600_000;

async function subscribersOf(tx: Tx, org: string, { serviceId, at }: AnnouncedEvent, after: string) {
  const pages = await listStatusPagesShowing(tx, org, serviceId);
  return listSubscribersSince(tx, org, { pageIds: pages.map((p) => p.id), at, after, limit: batchSize });
}

const unconfirmedPerBatch = 1_000;

/** Deletes some subscribers who never confirmed. False: there are no more of them. */
export const deleteUnconfirmedBatch = async (tx: Tx): Promise<boolean> =>
  (await deleteUnconfirmed(tx, unconfirmedPerBatch)) === unconfirmedPerBatch;

const allowancesPerBatch = 1_000;

/** Forgets some counts of first mails. False: there are no more of them. */
export const deleteAllowancesBatch = async (tx: Tx): Promise<boolean> =>
  (await deleteAllowances(tx, allowancesPerBatch)) === allowancesPerBatch;

/** First mails that were held back are shown for so long. */
const heldBackDays = 30;

/** Which first mails were held back, and what was announced long ago. */
export async function deleteExpired(tx: Tx): Promise<void> {
  await deleteHeldBack(tx, heldBackDays);
  const { from, to } = await upgradeDays(tx);
  await deleteAnnounced(tx, keepDays, { from, to: daysAfter(to, 1) });
}

const dayMs = 24 * 3_600_000;
const daysAfter = (at: string, days: number) => new Date(Date.parse(at) + days * dayMs).toISOString();

/** The day before updates came with a job each, and the day after, while servers of the release before may still run. */
async function upgradeDays(tx: Tx): Promise<{ from: string; to: string }> {
  const at = await jobsSince(tx);
  return { from: daysAfter(at, -1), to: daysAfter(at, 1) };
}

/** So many updates are looked at in one transaction, and so many transactions are made at a time. */
const scanLimits = { updates: 100, times: 200 };

/**
 * Servers of the release before publish updates without a job. For a day after the upgrade they are found here and get theirs; how many.
 * Safe to run twice: one that has its job gets no other, and one that was announced stays so.
 */
export async function enqueueMissedUpdates(db: Db, signal: AbortSignal): Promise<number> {
  const days = await db.read(upgradeDays);
  const recent = new Date(Date.parse(await db.read(now)) - recentHours * 3_600_000).toISOString();
  let range = { from: [recent, days.from].sort().at(-1)!, to: days.to, after: '' };
  let found = 0;
  for (let time = 0; time < scanLimits.times && range.from < range.to && !signal.aborted; time++) {
    const step = await db.write((tx) => enqueueMissedBatch(tx, range));
    found += step.enqueued;
    if (!step.last) break;
    range = { ...range, from: step.last.at, after: step.last.id };
  }
  return found;
}

async function enqueueMissedBatch(tx: Tx, range: { from: string; to: string; after: string }) {
  const updates = await updatesPublished(tx, range, scanLimits.updates);
  const ids = updates.map((u) => u.id);
  const announced = new Set((await listAnnounced(tx, ids)).map((a) => a.update_id));
  const forgotten = updates.filter((u) => !announced.has(u.id));
  const enqueued = await enqueueMany(
    tx,
    announceUpdate,
    forgotten.map((u) => ({ key: u.id, org: u.org_id })),
  );
  return { enqueued, last: updates.at(-1) };
}
