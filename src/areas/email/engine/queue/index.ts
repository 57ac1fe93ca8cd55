import type { App } from '../../../../kernel/app.ts';
import { runFor } from '../../../../kernel/fairness/index.ts';
import { clockMoved } from '../../../../kernel/jobs/index.ts';
import type { Spool, SpoolPosition } from '../../../../kernel/spool/index.ts';
import { storyOf } from '../../rules/simulator.ts';
import type { Fate } from '../../store/queue.ts';
import type { InFlight } from '../in-flight.ts';
import type { Outgoing, Sender } from '../outgoing.ts';
import { simulateAttempt } from '../simulator.ts';
import { queueChannel } from './channel.ts';
import { type ClaimCursor, claimDue, makeClaimLoop } from './claim.ts';
import { type Contents, type LoadSigning, makeContents } from './content.ts';
import { makeInFlightRecipients } from './in-flight.ts';
import { type Journal, openJournal } from './journal.ts';
import { makeJournalRecovery } from './journal-recovery.ts';
import { failRecipient, type RecipientOutcome, refuseRecipient, requeue, type SendRefusal, toRecipientOutcome } from './outcome.ts';
import { renewLeases } from './renew.ts';
import { makeSettler } from './settle.ts';

/** A recipient that this process has under its lease. */
export interface LeasedRecipient {
  id: number;
  lease: string;
  org: string;
  messageId: string;
  domainId: string;
  address: string;
  tries: number;
  /** When it came under the lease. */
  leasedAt: string;
  /** Where the message is, and what signing needs to know of it. */
  position: SpoolPosition;
  headerBytes: number;
  bodyHash: Buffer;
  /** The message itself, if it just came in. */
  inline?: Buffer;
  /** Another process has it: what still waits here must not be sent. */
  isLost?: boolean;
  /** Why it is not sent after all, though its time has come. */
  refusal?: SendRefusal;
  /** By the monotonic clock: a message begins before then, or not at all. Later, another process may have leased it unheard. */
  sendDeadline: number;
}

/** Recipients on their way: those that were just accepted, and those that rows wait for. It works on a bounded number, and the rest waits in rows. */
export interface Queue {
  /** Whether this process goes on with a recipient that is being accepted; if so, room for it is taken. */
  reserve(org: string, domain: string): boolean;
  release(org: string, domain: string): void;
  /** Goes on with what was reserved. */
  start(recipients: readonly LeasedRecipient[]): void;
  /** Whether it works on anything. */
  readonly isSending: boolean;
  /** What it works on. */
  readonly inFlight: Pick<InFlight<LeasedRecipient>, 'count' | 'byOrg'>;
  /** Recipients of which the database took no outcome: their lease was somebody else's by then. */
  readonly lost: number;
  stop(): Promise<void>;
}

export interface QueueOptions {
  app: App;
  spool: Spool;
  node: string;
  /** For the journal. */
  folder: string;
  sender: Sender;
  loadSigning: LoadSigning;
  /** What stands in MAIL FROM for a recipient of a message from this domain. */
  returnPath(recipient: number, messageId: string, domain: string): string;
  /** Our name in what we add to the message. */
  hostname: string;
  /** The other side is a smart host, which says nothing of the recipient. */
  isRelayed: boolean;
  maxInFlight?: number;
  /** Told of every outcome that is written down. */
  onOutcome?(outcome: string): void;
}

const stopGraceMs = 8_000;

/** No queue here: another process has the role. */
export const noQueue: Pick<Queue, 'reserve' | 'release' | 'start' | 'isSending'> = {
  reserve: () => false,
  release: () => {},
  start: () => {},
  isSending: false,
};

export async function startQueue(options: QueueOptions): Promise<Queue> {
  const { app, sender } = options;
  const journal = openJournal(options.folder);
  const recovery = makeJournalRecovery(options, journal);
  await recovery.recover();
  const inFlight = makeInFlightRecipients(options.maxInFlight ?? 2_000);
  const contents = makeContents(options);
  const cursor: ClaimCursor = { afterOrg: '', pausedOrgs: new Set(), hasBacklog: false };
  let lost = 0;

  const settler = makeSettler(app, ({ item, row, onSettled }, isLost) => {
    if (isLost) lost++;
    options.onOutcome?.(isLost ? 'lost' : row.state);
    onSettled?.();
    inFlight.remove(item);
    // Room is no reason to look if nothing waited for it.
    if (cursor.hasBacklog || !isFinal(row.state)) claimLoop.nudge();
  });
  const settle = (outcome: RecipientOutcome) => {
    // In the turn in which the other side's answer was read.
    const onSettled = isFinal(outcome.row.state) ? appendToJournal(app, journal, outcome.row) : undefined;
    contents.forget(outcome.item);
    settler.add(onSettled ? { ...outcome, onSettled } : outcome);
  };
  const isPaused = ({ org }: LeasedRecipient) => cursor.pausedOrgs.has(org);
  const shouldSend = (item: LeasedRecipient) => !item.isLost && !isPaused(item) && performance.now() < item.sendDeadline;
  const work = async (item: LeasedRecipient) => {
    if (item.refusal) return settle(refuseRecipient(item, item.refusal));
    const outcome = isPaused(item) ? requeue(item) : await attempt(options, contents, item, () => shouldSend(item));
    // What waited for its turn when its organization was paused has not been begun either.
    settle(isPaused(item) && outcome.row.state === 'deferred' && !outcome.row.counts ? requeue(item) : outcome);
  };
  const start = (recipients: readonly LeasedRecipient[]) => {
    for (const item of recipients) {
      const kept = inFlight.add(item);
      void runFor({ org: item.org, operation: 'email.send' }, () => work(kept), app.watch);
    }
  };

  const claimLoop = makeClaimLoop(options, async () => {
    if (app.hold.isHeld) return 'none';
    if (inFlight.freeSlots === 0) {
      cursor.hasBacklog = true;
      return 'full';
    }
    await recovery.recoverIfDue();
    const { found, mayBeMore } = await claimDue(options, inFlight, cursor);
    for (const { org } of found) inFlight.reserveClaimed(org);
    start(found);
    return mayBeMore ? 'more' : 'none';
  });
  const renewal = renewLeases(app, inFlight.items);
  const unsubscribe = [
    app.waker.hear(queueChannel, claimLoop.nudge),
    ...[recovery.forceNextRecovery, claimLoop.nudge, renewal.now].map((act) => app.waker.hear(clockMoved, act)),
  ];

  return {
    reserve: (org, domain) => !app.hold.isHeld && sender.backoffSeconds(domain, org) === 0 && inFlight.reserve(org),
    release: (org) => inFlight.release(org),
    start,
    inFlight,
    get isSending() {
      return inFlight.count > 0;
    },
    get lost() {
      return lost;
    },
    async stop() {
      inFlight.close();
      for (const forget of unsubscribe) forget();
      await claimLoop.stop();
      await sender.stop(stopGraceMs);
      await settler.stop();
      renewal.stop();
      journal.close();
    },
  };
}

/** Never rejects: what goes wrong here is a reason to wait. */
async function attempt(
  { app, sender, isRelayed }: QueueOptions,
  contents: Contents,
  item: LeasedRecipient,
  shouldSend: () => boolean,
): Promise<RecipientOutcome> {
  try {
    const story = storyOf(item.address);
    if (story) return toRecipientOutcome(item, simulateAttempt(story, item.tries), false);
    const outgoing = await contents.outgoing(item);
    return outgoing
      ? toRecipientOutcome(item, await sender.send(withSendCheck(outgoing, shouldSend)), isRelayed)
      : failRecipient(item, 'the domain that it is from was deleted');
  } catch (error) {
    app.log.warn({ err: error, message: item.messageId }, 'a message could not be made ready for sending');
    return toRecipientOutcome(
      item,
      {
        kind: 'waits',
        afterSeconds: 60,
        serverReply: { stage: 'here', response: 'it could not be read here; trying again' },
        because: 'ours',
      },
      false,
    );
  }
}

/** Asked when its turn has come, and once more before its content is given: the other side may have taken minutes for the envelope. */
const withSendCheck = (outgoing: Outgoing, shouldSend: () => boolean): Outgoing => ({
  ...outgoing,
  shouldSend,
  content: async () => {
    if (!shouldSend()) throw new Error('its lease ended before its content was asked for; another server may have it by now');
    return outgoing.content();
  },
});

/** On a full disk it goes on without: then a process that is killed before the database has it sends it twice. */
function appendToJournal(app: App, journal: Journal, row: Fate): (() => void) | undefined {
  try {
    return journal.append(row);
  } catch (error) {
    app.log.error({ err: error, message: row.message_id }, 'what became of a message could not be noted on the disk');
    return undefined;
  }
}

const isFinal = (state: string) => state !== 'deferred' && state !== 'queued';
