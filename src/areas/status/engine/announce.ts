import type { Db, Tx } from '../../../kernel/db/index.ts';
import { enqueueMany, job } from '../../../kernel/jobs/index.ts';
import { now } from '../../../kernel/time.ts';
import { incidentResolved, publicResolution, publicUpdate, updatePublished } from '../../oncall/index.ts';
import { forgetAnnounced, lockAnnounced, markAnnounced, takeMailTurns } from '../store/announced.ts';
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

/** Who never confirmed, and what was announced long ago. */
export async function forgetOld(tx: Tx): Promise<void> {
  await forgetUnconfirmed(tx);
  await forgetAnnounced(tx, keepDays);
}
