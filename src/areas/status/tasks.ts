import { enqueueMany, task } from '../../kernel/jobs/index.ts';
import { recentlyPublished } from '../oncall/index.ts';
import { sendUpdate } from './engine/mails.ts';
import { announcedAmong, forgetAnnounced, markAnnounced } from './store/announced.ts';
import { pagesShowing } from './store/status-pages.ts';
import { activeSince, forgetUnconfirmed } from './store/subscribers.ts';

/** What is older was announced, or its time has passed: nobody wants yesterday's alarm. */
const withinHours = 24;
const keepDays = 7;

/**
 * Every update that was published is announced once: its mails are queued in the transaction that says so. On-call wakes this when
 * it publishes; what a lost wake leaves behind is found by the clock.
 */
export const announce = task('status.announce', { everySeconds: 30, deadlineSeconds: 60 }, async ({ app, signal }) => {
  const recent = await app.db.read((tx) => recentlyPublished(tx, withinHours));
  if (!recent.length) return;
  const done = await app.db.read((tx) =>
    announcedAmong(
      tx,
      recent.map((u) => u.id),
    ),
  );
  for (const update of recent.filter((u) => !done.has(u.id))) {
    signal.throwIfAborted();
    await app.db.write(async (tx) => {
      if (!(await markAnnounced(tx, update.org, update.id))) return;
      const pages = await pagesShowing(tx, update.org, update.serviceId);
      const subscribers = await activeSince(
        tx,
        update.org,
        pages.map((p) => p.id),
        update.at,
      );
      await enqueueMany(
        tx,
        sendUpdate,
        subscribers.map(({ id }) => ({ key: `${update.id} ${id}`, org: update.org, payload: { updateId: update.id, subscriberId: id } })),
      );
    });
  }
});

export const forget = task('status.forget', { everySeconds: 3_600, deadlineSeconds: 60 }, async ({ app }) => {
  await app.db.write(async (tx) => {
    await forgetUnconfirmed(tx);
    await forgetAnnounced(tx, keepDays);
  });
});
