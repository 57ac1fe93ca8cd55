/**
 * The sending queue: from a committed recipient to its settled outcome. docs/areas/email.md lists limits and settings.
 *
 * Actors, in each process with the role `worker`: the intake starts just accepted recipients (`reserve`, `start`); the claim loop (claim.ts) leases
 * due rows; the sender (engine/sending) delivers; the settler (settle.ts) writes outcomes; renew.ts keeps leases; journal-recovery.ts replays
 * the journals of other processes.
 *
 * Flow: lease → in-flight slot (in-flight.ts; 2,000 per process) → for scheduled mail, check again (scheduled.ts) → sign (content.ts) → sender → outcome
 * (outcome.ts) → append a final outcome to the journal (journal.ts) → settle in batches: the recipient's row, events, suppression, webhook
 * events and the automatic pause in one transaction → free the slot → claim again if rows may wait.
 *
 * States of a recipient's row: queued → sending → delivered, sent (relayed by a smart host), bounced, failed or suppressed. A temporary refusal makes it
 * deferred, and sending again at its next attempt. After 72 hours of attempts it fails; pauses and local trouble do not count.
 *
 * A lease lasts 60 s and is renewed every 20 s. Sending begins at most 40 s after the last successful renewal was requested, so two processes do
 * not send to one recipient.
 *
 * What survives:
 * - a killed process: leases lapse and another process claims its recipients, after it replayed the journal. Only a message whose final reply was
 *   never read is sent again;
 * - an absent database: outcomes wait in memory and, if final, in the journal; no attempt begins after its deadline;
 * - a power cut: the journal is not synced, so up to a batch of messages may be sent again;
 * - a stop: recipients in flight have 8 s to finish; the others are queued again.
 */

import type { App } from '../../../../../kernel/app.ts';
import { runFor } from '../../../../../kernel/fairness/index.ts';
import { clockMoved } from '../../../../../kernel/jobs/index.ts';
import { queueChannel } from '../../../engine/channels.ts';
import type { InFlight } from '../../../engine/in-flight.ts';
import { scenarioOf } from '../../rules/simulator.ts';
import type { RecipientOutcome } from '../../store/queue.ts';
import type { Outgoing } from '../outgoing.ts';
import { simulateAttempt } from '../simulator.ts';
import { type ClaimCursor, claimDue, makeClaimLoop } from './claim.ts';
import { type Contents, makeContents } from './content.ts';
import { makeInFlightRecipients } from './in-flight.ts';
import { type Journal, openJournal } from './journal.ts';
import { makeJournalRecovery } from './journal-recovery.ts';
import { failRecipient, type PendingOutcome, refuseRecipient, requeue, toPendingOutcome } from './outcome.ts';
import { renewLeases } from './renew.ts';
import { makeSettler } from './settle.ts';
import type { LeasedRecipient, QueueOptions } from './types.ts';

/** The sending worker of this process. See the comment at the top of this file. */
export interface Queue {
  /** Reserves an in-flight slot for a recipient that is being accepted. False: it waits as a row. */
  reserve(org: string, domain: string): boolean;
  release(org: string, domain: string): void;
  /** Sends to recipients whose slots were reserved. */
  start(recipients: readonly LeasedRecipient[]): void;
  /** Whether any recipient is in flight. */
  readonly isSending: boolean;
  /** For metrics. */
  readonly inFlight: Pick<InFlight<LeasedRecipient>, 'count' | 'byOrg'>;
  /** Outcomes that the database refused because another process held the lease by then. */
  readonly lost: number;
  stop(): Promise<void>;
}

const stopGraceMs = 8_000;

/** Stands in where this process does not have the `worker` role. */
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
    // A freed slot is worth a claim only if rows may wait for one.
    if (cursor.hasBacklog || !isFinal(row.state)) claimLoop.nudge();
  });
  const settle = (outcome: PendingOutcome) => {
    // Synchronously, in the event-loop turn that read the remote server's reply.
    const onSettled = isFinal(outcome.row.state) ? appendToJournal(app, journal, outcome.row) : undefined;
    contents.forget(outcome.item);
    settler.add(onSettled ? { ...outcome, onSettled } : outcome);
  };
  const isPaused = ({ org }: LeasedRecipient) => cursor.pausedOrgs.has(org);
  const shouldSend = (item: LeasedRecipient) => !item.isLost && !isPaused(item) && performance.now() < item.sendDeadline;
  const work = async (item: LeasedRecipient) => {
    if (item.refusal) return settle(refuseRecipient(item, item.refusal));
    const outcome = isPaused(item) ? requeue(item) : await attempt(options, contents, item, () => shouldSend(item));
    // A message that was still waiting for a connection when its organization was paused was not attempted either.
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
    app.waker.subscribe(queueChannel, claimLoop.nudge),
    ...[recovery.forceNextRecovery, claimLoop.nudge, renewal.now].map((act) => app.waker.subscribe(clockMoved, act)),
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

/** Never rejects: a local error defers the recipient by a minute. */
async function attempt(
  { app, sender, isRelayed }: QueueOptions,
  contents: Contents,
  item: LeasedRecipient,
  shouldSend: () => boolean,
): Promise<PendingOutcome> {
  try {
    const story = scenarioOf(item.address);
    if (story) return toPendingOutcome(item, simulateAttempt(story, item.tries), false);
    const outgoing = await contents.outgoing(item);
    return outgoing
      ? toPendingOutcome(item, await sender.send(withSendCheck(outgoing, shouldSend)), isRelayed)
      : failRecipient(item, 'the domain that it is from was deleted');
  } catch (error) {
    app.log.warn({ err: error, message: item.messageId }, 'a message could not be prepared for sending');
    return toPendingOutcome(
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

/** Checked when a connection is free, and again before the content is sent: the remote server may take minutes to answer the envelope. */
const withSendCheck = (outgoing: Outgoing, shouldSend: () => boolean): Outgoing => ({
  ...outgoing,
  shouldSend,
  content: async () => {
    if (!shouldSend()) throw new Error('its lease ended before its content was asked for; another server may have it by now');
    return outgoing.content();
  },
});

/** On a full disk the outcome is not journaled. If the process is then killed before the database has it, the message is sent twice. */
function appendToJournal(app: App, journal: Journal, row: RecipientOutcome): (() => void) | undefined {
  try {
    return journal.append(row);
  } catch (error) {
    app.log.error({ err: error, message: row.message_id }, 'the outcome of a message could not be written to the journal');
    return undefined;
  }
}

const isFinal = (state: string) => state !== 'deferred' && state !== 'queued';
