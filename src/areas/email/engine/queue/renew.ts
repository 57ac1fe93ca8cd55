import type { App } from '../../../../kernel/app.ts';
import { renewRecipients } from '../../store/queue.ts';
import type { LeasedRecipient } from './index.ts';
import { leaseSeconds, renewIntervalMs, sendDeadlineAfter } from './lease.ts';

/** Keeps the leases of everything that is worked on here. One that was lost is not begun any more; if it was, it is noticed when its outcome is
 *  written down. */
export function renewLeases(app: App, items: ReadonlyMap<number, LeasedRecipient>) {
  let isRenewing = false;
  const renewAll = async () => {
    const held = [...items.values()];
    const askedAt = performance.now();
    const leased = held.map(({ id, lease }) => ({ id, lease, leaseSeconds }));
    const verdicts = leased.length > 0 ? await app.db.write((tx) => renewRecipients(tx, leased)) : [];
    held.forEach((item, n) => {
      if (verdicts[n] === 'lost') item.isLost = true;
      else item.sendDeadline = sendDeadlineAfter(askedAt);
    });
  };
  const now = () => {
    if (isRenewing) return;
    isRenewing = true;
    renewAll()
      .catch((error) => app.log.warn({ err: error }, 'leases of mail could not be renewed'))
      .finally(() => {
        isRenewing = false;
      });
  };
  const timer = setInterval(now, renewIntervalMs);
  return { now, stop: () => clearInterval(timer) };
}
