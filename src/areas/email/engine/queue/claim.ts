import { randomUUID } from 'node:crypto';
import { isUnavailable } from '../../../../kernel/db/index.ts';
import { runFor, systemContext } from '../../../../kernel/fairness/index.ts';
import { mostOrgs } from '../../../../kernel/jobs/index.ts';
import * as store from '../../store/queue.ts';
import type { Holdings } from '../holdings.ts';
import type { Refused } from './fate.ts';
import type { Born, QueueOptions } from './index.ts';
import { beginsUntil, leaseSeconds } from './lease.ts';
import { refuseScheduled } from './scheduled.ts';

/** So many at a time, so that a claim stays short. */
export const mostAtOnce = 100;
/** By the clock, whatever nobody told us of. */
const lookEveryMs = 1_000;
/** After a recipient that was not worth a claim of its own was finished, wait for more of them. */
const gatherMs = 20;

export interface Claims {
  /** There may be something. */
  nudge(): void;
  stop(): Promise<void>;
}

/** Looks for what is due whenever it is told that there may be something, and once a second. */
export function makeClaims({ app }: Pick<QueueOptions, 'app'>, look: () => Promise<'more' | 'none' | 'full'>): Claims {
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> | undefined;
  let isAsked = false;

  const lookOnce = async () => {
    isAsked = false;
    try {
      if ((await look()) === 'more') isAsked = true;
    } catch (error) {
      if (!isUnavailable(error)) app.log.warn({ err: error }, 'mail that is due could not be claimed');
    }
  };
  const schedule = (ms: number) => {
    clearTimeout(timer);
    if (!stopped) timer = setTimeout(go, ms);
  };
  const go = () => {
    running ??= runFor({ ...systemContext, operation: 'email.claim' }, lookOnce, app.watch).finally(() => {
      running = undefined;
      schedule(isAsked ? gatherMs : lookEveryMs);
    });
  };
  schedule(0);
  return {
    nudge() {
      if (isAsked || stopped) return;
      isAsked = true;
      if (!running) schedule(gatherMs);
    },
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await running;
    },
  };
}

export interface Turn {
  /** Where the next turn begins: after this organization. */
  afterOrg: string;
  /** Whose sending was paused at the last look. */
  paused: ReadonlySet<string>;
  /** Rows may wait for room here: whenever there is some, it is worth a look. */
  isBehind: boolean;
}

interface ClaimedMail {
  claimed: store.ClaimedRow[];
  messages: store.SentOnRow[];
  /** Of recipients, by their ids. */
  refusals: ReadonlyMap<number, Refused>;
}
const nothing: ClaimedMail = { claimed: [], messages: [], refusals: new Map() };

/** Takes what is due of organizations in turn; those whose sending is paused wait. */
export async function claimMore(
  { app, node }: QueueOptions,
  held: Holdings<Born>,
  turn: Turn,
): Promise<{ found: Born[]; mayBeMore: boolean }> {
  const limit = Math.min(held.room, mostAtOnce);
  const lease = randomUUID();
  let askedAt = performance.now();
  const { claimed, messages, refusals } = await app.db.write(async (tx): Promise<ClaimedMail> => {
    askedAt = performance.now();
    const [paused, orgs] = await Promise.all([store.findPaused(tx), store.findOrgs(tx, turn.afterOrg)]);
    turn.paused = paused;
    turn.afterOrg = orgs.length < mostOrgs ? '' : orgs.at(-1)!;
    const open = orgs.filter((org) => !paused.has(org));
    if (open.length === 0) return nothing;
    const found = await store.claimRecipients(tx, {
      orgs: open,
      running: held.byOrg,
      perOrg: held.perOrg,
      limit,
      lease,
      leaseSeconds,
      held: [...held.items.keys()],
      node,
    });
    if (found.length === 0) return nothing;
    const ids = [...new Set(found.map((f) => f.message_id))];
    const sending = await store.markSending(
      tx,
      found.map((f) => f.id),
      ids,
    );
    return { claimed: found, messages: sending, refusals: await refuseScheduled(tx, found, sending) };
  });
  const messageOf = new Map(messages.map((m) => [m.id, m]));
  const found = claimed.map((c) => asHeld(c, messageOf.get(c.message_id)!, beginsUntil(askedAt), refusals.get(c.id)));
  turn.isBehind = found.length > 0 || turn.afterOrg !== '' || [...held.byOrg.values()].some((count) => count >= held.perOrg);
  return { found, mayBeMore: claimed.length === limit || turn.afterOrg !== '' };
}

const asHeld = (claimed: store.ClaimedRow, message: store.SentOnRow, until: number, refusal: Refused | undefined): Born => ({
  ...(refusal ? { refusal } : {}),
  beginsUntil: until,
  at: message.now,
  id: claimed.id,
  lease: claimed.lease,
  org: claimed.org_id,
  messageId: claimed.message_id,
  domainId: message.domain_id,
  address: claimed.address,
  tries: claimed.tries,
  place: { key: message.body_key ?? '', offset: message.body_offset, bytes: message.body_bytes },
  headerBytes: message.header_bytes,
  bodyHash: message.body_hash,
});
