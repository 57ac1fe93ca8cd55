import type { App } from '../../../../../kernel/app.ts';
import { renewRecipients } from '../../store/queue.ts';
import { leaseSeconds, renewIntervalMs, sendDeadlineAfter } from './lease.ts';
import type { LeasedRecipient } from './types.ts';

/** Renews the leases of all recipients in flight. A lost lease stops an attempt that has not begun; otherwise the database refuses its outcome. */
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
