import type { Db, Tx } from '../../../kernel/db/index.ts';
import { enqueueMany, job } from '../../../kernel/jobs/index.ts';
import { now } from '../../../kernel/time.ts';
import { incidentResolved, publicResolution, publicUpdate, updatePublished, updatesPublished } from '../../oncall/index.ts';
import { deleteAnnounced, jobsSince, listAnnounced, lockAnnounced, markAnnounced, reserveMailSlots } from '../store/announced.ts';
import { deleteAllowances, deleteHeldBack } from '../store/mail-allowances.ts';
import { countQueued, deleteOldMailings } from '../store/mailings.ts';
import { listStatusPagesShowing } from '../store/status-pages.ts';
import { deleteUnconfirmed, listSubscribersSince } from '../store/subscribers.ts';
import { sendResolution, sendUpdate } from './mails.ts';

/** Older events are not announced: yesterday's alarm is not news. */
const recentHours = 24;
const keepDays = 7;
/** For the story of an incident. */
const keepCountsDays = 400;
/** Subscribers whose mails are queued in one transaction. */
export const batchSize = 500;
/** Limit of one organization over all its pages, because the mail lane is shared. */
const mailsPerSecond = 20;

/** An event for subscribers: an update, or the end of an incident. */
interface AnnouncedEvent {
  serviceId: string;
  at: string;
}

type EnqueueMails = (tx: Tx, mails: { subscriberId: string; delaySeconds: number }[]) => Promise<unknown>;

/**
 * Announces an update; on-call enqueues it with each published update. Safe to run twice and to be killed: the transaction that queues
 * mails also stores the last subscriber reached.
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

/** The same when a public incident is resolved, unless an update published since has said so. */
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
  /** Undefined: there is nothing to announce any more. */
  find(tx: Tx): Promise<AnnouncedEvent | undefined>;
  queue: EnqueueMails;
}

async function announceAll(db: Db, signal: AbortSignal, what: Announcement): Promise<void> {
  while (await db.write((tx) => announceBatch(tx, what))) signal.throwIfAborted();
}

/** False: all subscribers are done. */
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
    await countQueued(tx, org, id, subscribers.length);
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

/** Deletes a batch of subscribers who never confirmed. False: no more are left. */
export const deleteUnconfirmedBatch = async (tx: Tx): Promise<boolean> =>
  (await deleteUnconfirmed(tx, unconfirmedPerBatch)) === unconfirmedPerBatch;

const allowancesPerBatch = 1_000;

/** Deletes a batch of expired mail counters. False: no more are left. */
export const deleteAllowancesBatch = async (tx: Tx): Promise<boolean> =>
  (await deleteAllowances(tx, allowancesPerBatch)) === allowancesPerBatch;

/** Days for which held-back confirmation mails are shown. */
const heldBackDays = 30;

/** Deletes old counts of held-back mails and old announcement records. */
export async function deleteExpired(tx: Tx): Promise<void> {
  await deleteHeldBack(tx, heldBackDays);
  await deleteOldMailings(tx, keepCountsDays);
  const { from, to } = await upgradeDays(tx);
  await deleteAnnounced(tx, keepDays, { from, to: daysAfter(to, 1) });
}

const dayMs = 24 * 3_600_000;
const daysAfter = (at: string, days: number) => new Date(Date.parse(at) + days * dayMs).toISOString();

/** The days around the upgrade that introduced jobs for updates, while servers of the previous release may still run. */
async function upgradeDays(tx: Tx): Promise<{ from: string; to: string }> {
  const at = await jobsSince(tx);
  return { from: daysAfter(at, -1), to: daysAfter(at, 1) };
}

/** Updates per transaction, and transactions per run. */
const scanLimits = { updates: 100, times: 200 };

/**
 * Finds updates without a job: servers of the previous release publish them. Runs for a day before and after the upgrade and returns how
 * many it enqueued. Safe to run twice: an update with a job, or announced already, is skipped.
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
