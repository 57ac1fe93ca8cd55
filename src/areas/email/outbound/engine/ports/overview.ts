import type { Failing } from '../../../../../../contract/overview.ts';
import type { Tx } from '../../../../../kernel/db/index.ts';
import { now } from '../../../../../kernel/time.ts';
import { type Counted, countAll, fullness, maxCounted, type OverviewPart, type OverviewSource, type Reader } from '../../../../ports.ts';
import { failedMessages } from '../../store/ports/overview.ts';
import { findSendingStatus } from '../../store/sending-pause.ts';

const dayMs = 86_400_000;

export const outboundOverview: OverviewSource = {
  entitlement: 'email',
  async read(tx, reader) {
    const [failed, sending] = await Promise.all([readFailed(tx, reader), readSending(tx, reader)]);
    if (!failed) return {};
    const failing = [...(sending?.failing ?? []), ...failed.items];
    return { failing: countAll(failing), ...(sending ? { full: sending.full } : {}) };
  },
};

async function readFailed(tx: Tx, { org, reach }: Reader): Promise<Counted<Failing> | undefined> {
  const visible = reach('email.message.read');
  if (visible === undefined) return undefined;
  const since = new Date(Date.parse(await now(tx)) - dayMs).toISOString();
  const count = await failedMessages(tx, org, visible, since, maxCounted);
  const amount = count === maxCounted ? `${count} or more messages` : count === 1 ? '1 message' : `${count} messages`;
  return countAll<Failing>(count ? [{ kind: 'messages', name: 'Messages', reason: `${amount} of the last day bounced or failed` }] : []);
}

/** The pause and the quota are of the whole organization, and for callers who may read all of its mail. */
async function readSending(
  tx: Tx,
  { app, org, reach }: Reader,
): Promise<{ failing: Failing[]; full: NonNullable<OverviewPart['full']> } | undefined> {
  if (reach('email.message.read') !== '*') return undefined;
  const status = await findSendingStatus(tx, org);
  const quota = status.daily_quota ?? app.config.email_daily_quota;
  return {
    failing:
      status.paused_at === null
        ? []
        : [
            {
              kind: 'sending',
              name: 'Sending',
              since: status.paused_at,
              reason: `sending is paused: ${status.pause_reason ?? 'by the operator'}`,
            },
          ],
    full: countAll(fullness({ kind: 'email', name: 'Recipients today', unit: 'recipients' }, status.accepted, quota)),
  };
}
