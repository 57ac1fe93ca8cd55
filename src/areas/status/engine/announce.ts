import type { Tx } from '../../../kernel/db/index.ts';
import { enqueueMany } from '../../../kernel/jobs/index.ts';
import { recentlyPublished } from '../../oncall/index.ts';
import { findAnnounced, forgetAnnounced, markAnnounced } from '../store/announced.ts';
import { listStatusPagesShowing } from '../store/status-pages.ts';
import { forgetUnconfirmed, listSubscribersSince } from '../store/subscribers.ts';
import { sendUpdate } from './mails.ts';

/** What is older was announced, or its time has passed: nobody wants yesterday's alarm. */
const recentHours = 24;
const keepDays = 7;

type Published = Awaited<ReturnType<typeof recentlyPublished>>[number];

export async function listUnannounced(tx: Tx): Promise<Published[]> {
  const recent = await recentlyPublished(tx, recentHours);
  if (!recent.length) return [];
  const announced = await findAnnounced(
    tx,
    recent.map((u) => u.id),
  );
  return recent.filter((u) => !announced.has(u.id));
}

/** An update is announced once: its mails are queued in the transaction that says so. */
export async function announceUpdate(tx: Tx, update: Published): Promise<void> {
  if (!(await markAnnounced(tx, update.org, update.id))) return;
  const pages = await listStatusPagesShowing(tx, update.org, update.serviceId);
  const pageIds = pages.map((p) => p.id);
  const subscribers = await listSubscribersSince(tx, update.org, pageIds, update.at);
  await enqueueMany(
    tx,
    sendUpdate,
    subscribers.map(({ id }) => ({ key: `${update.id} ${id}`, org: update.org, payload: { updateId: update.id, subscriberId: id } })),
  );
}

/** Who never confirmed, and what was announced long ago. */
export async function forgetOld(tx: Tx): Promise<void> {
  await forgetUnconfirmed(tx);
  await forgetAnnounced(tx, keepDays);
}
