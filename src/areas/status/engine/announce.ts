import type { Db, Tx } from '../../../kernel/db/index.ts';
import { enqueueMany, job } from '../../../kernel/jobs/index.ts';
import { now } from '../../../kernel/time.ts';
import { incidentResolved, publicResolution, publicUpdate, updatePublished, updatesPublished } from '../../oncall/index.ts';
import { forgetAnnounced, jobsSince, listAnnounced, lockAnnounced, markAnnounced, takeMailTurns } from '../store/announced.ts';
import { forgetAllowances, forgetHeldBack } from '../store/first-mails.ts';
import { listStatusPagesShowing } from '../store/status-pages.ts';
import { forgetUnconfirmed, listSubscribersSince } from '../store/subscribers.ts';
import { sendResolution, sendUpdate } from './mails.ts';

/** What is older was announced, or its time has passed: nobody wants yesterday's alarm. */
const recentHours = 24;
const keepDays = 7;
/** So many subscribers have their mails queued in one transaction. */
export const portion = 500;
/** Of all pages of one organization: the lane for mails is everybody's. */
const mailsASecond = 20;

/** What subscribers are told of: an update, or that an incident is over. */
interface News {
  serviceId: string;
  at: string;
}

type Queue = (tx: Tx, mails: { subscriberId: string; delaySeconds: number }[]) => Promise<unknown>;

/**
 * On-call leaves one of these with each update that it publishes. Safe to run twice, and to be killed: how far the subscribers have their
 * mails stands in the transaction that queues them.
 */
export const announceUpdate = job(updatePublished.kind, { lane: updatePublished.lane }, ({ db, key, org = '', signal }) => {
  const queue: Queue = (tx, mails) =>
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
  const queue: Queue = (tx, mails) =>
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
  find(tx: Tx): Promise<News | undefined>;
  queue: Queue;
}

async function announceAll(db: Db, signal: AbortSignal, what: Announcement): Promise<void> {
  while (await db.write((tx) => announceSome(tx, what))) signal.throwIfAborted();
}

/** False: everybody has their mail. */
async function announceSome(tx: Tx, { org, id, find, queue }: Announcement): Promise<boolean> {
  const { done, after_id: after } = await lockAnnounced(tx, org, id);
  if (done) return false;
  const news = await find(tx);
  const subscribers = news && (await isRecent(tx, news)) ? await subscribersOf(tx, org, news, after) : [];
  if (subscribers.length) {
    const wait = await takeMailTurns(tx, org, subscribers.length, mailsASecond);
    await queue(
      tx,
      subscribers.map((s, i) => ({ subscriberId: s.id, delaySeconds: wait + i / mailsASecond })),
    );
  }
  const isLast = subscribers.length < portion;
  await markAnnounced(tx, org, id, { done: isLast, after: subscribers.at(-1)?.id ?? after });
  return !isLast;
}

const isRecent = async (tx: Tx, { at }: News) => Date.parse(await now(tx)) - Date.parse(at) < recentHours * 3_600_000;

async function subscribersOf(tx: Tx, org: string, { serviceId, at }: News, after: string) {
  const pages = await listStatusPagesShowing(tx, org, serviceId);
  return listSubscribersSince(tx, org, { pageIds: pages.map((p) => p.id), at, after, limit: portion });
}

const unconfirmedAtOnce = 1_000;

/** Deletes some subscribers who never confirmed. False: there are no more of them. */
export const forgetSomeUnconfirmed = async (tx: Tx): Promise<boolean> =>
  (await forgetUnconfirmed(tx, unconfirmedAtOnce)) === unconfirmedAtOnce;

const allowancesAtOnce = 1_000;

/** Forgets some counts of first mails. False: there are no more of them. */
export const forgetSomeAllowances = async (tx: Tx): Promise<boolean> => (await forgetAllowances(tx, allowancesAtOnce)) === allowancesAtOnce;

/** First mails that were held back are shown for so long. */
const heldBackDays = 30;

/** Which first mails were held back, and what was announced long ago. */
export async function forgetOld(tx: Tx): Promise<void> {
  await forgetHeldBack(tx, heldBackDays);
  const { from, to } = await upgradeDays(tx);
  await forgetAnnounced(tx, keepDays, { from, to: daysAfter(to, 1) });
}

const dayMs = 24 * 3_600_000;
const daysAfter = (at: string, days: number) => new Date(Date.parse(at) + days * dayMs).toISOString();

/** The day before updates came with a job each, and the day after, while servers of the release before may still run. */
async function upgradeDays(tx: Tx): Promise<{ from: string; to: string }> {
  const at = await jobsSince(tx);
  return { from: daysAfter(at, -1), to: daysAfter(at, 1) };
}

/** So many updates are looked at in one transaction, and so many transactions are made at a time. */
const lookedAt = { updates: 100, times: 200 };

/**
 * Servers of the release before publish updates without a job. For a day after the upgrade they are found here and get theirs; how many.
 * Safe to run twice: one that has its job gets no other, and one that was announced stays so.
 */
export async function announceForgotten(db: Db, signal: AbortSignal): Promise<number> {
  const days = await db.read(upgradeDays);
  const recent = new Date(Date.parse(await db.read(now)) - recentHours * 3_600_000).toISOString();
  let place = { from: [recent, days.from].sort().at(-1)!, to: days.to, after: '' };
  let found = 0;
  for (let time = 0; time < lookedAt.times && place.from < place.to && !signal.aborted; time++) {
    const step = await db.write((tx) => enqueueForgotten(tx, place));
    found += step.enqueued;
    if (!step.last) break;
    place = { ...place, from: step.last.at, after: step.last.id };
  }
  return found;
}

async function enqueueForgotten(tx: Tx, place: { from: string; to: string; after: string }) {
  const updates = await updatesPublished(tx, place, lookedAt.updates);
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
