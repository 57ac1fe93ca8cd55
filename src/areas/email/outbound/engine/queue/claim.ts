import { randomUUID } from 'node:crypto';
import { isUnavailable } from '../../../../../kernel/db/index.ts';
import { runFor, systemContext } from '../../../../../kernel/fairness/index.ts';
import { maxOrgsPerWalk } from '../../../../../kernel/jobs/index.ts';
import type { InFlight } from '../../../engine/in-flight.ts';
import * as store from '../../store/queue.ts';
import { leaseSeconds, sendDeadlineAfter } from './lease.ts';
import { recheckScheduled } from './scheduled.ts';
import type { LeasedRecipient, QueueOptions, SendRefusal } from './types.ts';

/** Keeps the claim's transaction short. */
export const maxPerClaim = 100;
/** Finds recipients whose notification was lost, and those that fall due. */
const pollIntervalMs = 1_000;
/** Nudges within this time share one claim. */
const coalesceMs = 20;

export interface ClaimLoop {
  /** Asks for a claim soon. */
  nudge(): void;
  stop(): Promise<void>;
}

/** Runs `claim` after a nudge, and at least once a second. Only one claim runs at a time. */
export function makeClaimLoop({ app }: Pick<QueueOptions, 'app'>, claim: () => Promise<'more' | 'none' | 'full'>): ClaimLoop {
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> | undefined;
  let isNudged = false;

  const claimOnce = async () => {
    isNudged = false;
    try {
      if ((await claim()) === 'more') isNudged = true;
    } catch (error) {
      if (!isUnavailable(error)) app.log.warn({ err: error }, 'mail that is due could not be claimed');
    }
  };
  const schedule = (ms: number) => {
    clearTimeout(timer);
    if (!stopped) timer = setTimeout(run, ms);
  };
  const run = () => {
    running ??= runFor({ ...systemContext, operation: 'email.claim' }, claimOnce, app.watch).finally(() => {
      running = undefined;
      schedule(isNudged ? coalesceMs : pollIntervalMs);
    });
  };
  schedule(0);
  return {
    nudge() {
      if (isNudged || stopped) return;
      isNudged = true;
      if (!running) schedule(coalesceMs);
    },
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await running;
    },
  };
}

export interface ClaimCursor {
  /** The next claim begins after this organization. */
  afterOrg: string;
  /** Organizations whose sending was paused at the last claim. */
  pausedOrgs: ReadonlySet<string>;
  /** Rows may wait for a free slot here, so a freed slot is worth a claim. */
  hasBacklog: boolean;
}

interface ClaimedMail {
  claimed: store.ClaimedRow[];
  messages: store.SendingMessageRow[];
  /** By recipient id. */
  refusals: ReadonlyMap<number, SendRefusal>;
}
const noMail: ClaimedMail = { claimed: [], messages: [], refusals: new Map() };

/** Leases due recipients, organizations in turn. Paused organizations are skipped. */
export async function claimDue(
  { app, node }: QueueOptions,
  inFlight: InFlight<LeasedRecipient>,
  cursor: ClaimCursor,
): Promise<{ found: LeasedRecipient[]; mayBeMore: boolean }> {
  const limit = Math.min(inFlight.freeSlots, maxPerClaim);
  const lease = randomUUID();
  let askedAt = performance.now();
  const { claimed, messages, refusals } = await app.db.write(async (tx): Promise<ClaimedMail> => {
    askedAt = performance.now();
    const [paused, orgs] = await Promise.all([store.findPaused(tx), store.findOrgs(tx, cursor.afterOrg)]);
    cursor.pausedOrgs = paused;
    cursor.afterOrg = orgs.length < maxOrgsPerWalk ? '' : orgs.at(-1)!;
    const open = orgs.filter((org) => !paused.has(org));
    if (open.length === 0) return noMail;
    const found = await store.claimRecipients(tx, {
      orgs: open,
      running: inFlight.byOrg,
      perOrg: inFlight.maxPerOrg,
      limit,
      lease,
      leaseSeconds,
      held: [...inFlight.items.keys()],
      node,
    });
    if (found.length === 0) return noMail;
    const ids = [...new Set(found.map((f) => f.message_id))];
    const sending = await store.markSending(
      tx,
      found.map((f) => f.id),
      ids,
    );
    return { claimed: found, messages: sending, refusals: await recheckScheduled(tx, found, sending) };
  });
  const messageOf = new Map(messages.map((m) => [m.id, m]));
  const found = claimed.map((c) => toLeasedRecipient(c, messageOf.get(c.message_id)!, sendDeadlineAfter(askedAt), refusals.get(c.id)));
  cursor.hasBacklog =
    found.length > 0 || cursor.afterOrg !== '' || [...inFlight.byOrg.values()].some((count) => count >= inFlight.maxPerOrg);
  return { found, mayBeMore: claimed.length === limit || cursor.afterOrg !== '' };
}

const toLeasedRecipient = (
  claimed: store.ClaimedRow,
  message: store.SendingMessageRow,
  until: number,
  refusal: SendRefusal | undefined,
): LeasedRecipient => ({
  ...(refusal ? { refusal } : {}),
  sendDeadline: until,
  leasedAt: message.now,
  id: claimed.id,
  lease: claimed.lease,
  org: claimed.org_id,
  messageId: claimed.message_id,
  domainId: message.domain_id,
  address: claimed.address,
  tries: claimed.tries,
  position: { key: message.body_key ?? '', offset: message.body_offset, bytes: message.body_bytes },
  headerBytes: message.header_bytes,
  bodyHash: message.body_hash,
});
