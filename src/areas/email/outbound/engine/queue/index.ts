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
 * - a stop: recipients in flight have 8 s to finish (4 s before the next server goes on); the others are queued again.
 */

import type { App } from '../../../../../kernel/app.ts';
import { runFor } from '../../../../../kernel/fairness/index.ts';
import { clockMoved } from '../../../../../kernel/jobs/index.ts';
import { queueChannel } from '../../../engine/channels.ts';
import type { InFlight } from '../../../engine/in-flight.ts';
import type { RecipientOutcome } from '../../store/queue.ts';
import { attempt } from './attempt.ts';
import { type ClaimCursor, type ClaimLoop, claimDue, makeClaimLoop } from './claim.ts';
import { type Contents, makeContents } from './content.ts';
import { makeInFlightRecipients } from './in-flight.ts';
import { type Journal, openJournal } from './journal.ts';
import { type JournalRecovery, makeJournalRecovery } from './journal-recovery.ts';
import { type PendingOutcome, refuseRecipient, requeue } from './outcome.ts';
import { renewLeases } from './renew.ts';
import { makeSettler, type Settler } from './settle.ts';
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
  /** Recipients in flight have this long to finish. */
  stop(graceMs: number): Promise<void>;
}

/** Stands in where this process does not have the `worker` role. */
export const noQueue: Pick<Queue, 'reserve' | 'release' | 'start' | 'isSending'> = {
  reserve: () => false,
  release: () => {},
  start: () => {},
  isSending: false,
};

/** Replays the journals of other processes first, then starts to claim. */
export async function startQueue(options: QueueOptions): Promise<Queue> {
  const journal = openJournal(options.folder);
  const recovery = makeJournalRecovery(options, journal);
  await recovery.recover();
  return new SendingQueue(options, journal, recovery);
}

class SendingQueue implements Queue {
  readonly inFlight: InFlight<LeasedRecipient>;
  readonly #options: QueueOptions;
  readonly #journal: Journal;
  readonly #recovery: JournalRecovery;
  readonly #contents: Contents;
  readonly #settler: Settler;
  readonly #claimLoop: ClaimLoop;
  readonly #renewal: ReturnType<typeof renewLeases>;
  readonly #unsubscribe: (() => void)[];
  readonly #cursor: ClaimCursor = { afterOrg: '', pausedOrgs: new Set(), hasBacklog: false };
  #lost = 0;

  constructor(options: QueueOptions, journal: Journal, recovery: JournalRecovery) {
    const { app } = options;
    this.#options = options;
    this.#journal = journal;
    this.#recovery = recovery;
    this.inFlight = makeInFlightRecipients(options.maxInFlight ?? 2_000);
    this.#contents = makeContents(options);
    this.#settler = makeSettler(app, (outcome, isLost) => this.#settled(outcome, isLost));
    this.#claimLoop = makeClaimLoop(options, () => this.#claim());
    this.#renewal = renewLeases(app, this.inFlight.items);
    this.#unsubscribe = [
      app.waker.subscribe(queueChannel, this.#claimLoop.nudge),
      app.waker.subscribe(clockMoved, recovery.forceNextRecovery),
      app.waker.subscribe(clockMoved, this.#claimLoop.nudge),
      app.waker.subscribe(clockMoved, this.#renewal.now),
    ];
  }

  get isSending(): boolean {
    return this.inFlight.count > 0;
  }

  get lost(): number {
    return this.#lost;
  }

  reserve(org: string, domain: string): boolean {
    const { app, sender } = this.#options;
    return !app.hold.isHeld && sender.backoffSeconds(domain, org) === 0 && this.inFlight.reserve(org);
  }

  release(org: string): void {
    this.inFlight.release(org);
  }

  start(recipients: readonly LeasedRecipient[]): void {
    for (const item of recipients) {
      const kept = this.inFlight.add(item);
      void runFor({ org: item.org, operation: 'email.send' }, () => this.#work(kept), this.#options.app.watch);
    }
  }

  async stop(graceMs: number): Promise<void> {
    this.inFlight.close();
    for (const forget of this.#unsubscribe) forget();
    await this.#claimLoop.stop();
    await this.#options.sender.stop(graceMs);
    await this.#settler.stop();
    this.#renewal.stop();
    this.#journal.close();
  }

  /** Leases due recipients and starts them. */
  async #claim(): Promise<'more' | 'none' | 'full'> {
    if (this.#options.app.hold.isHeld) return 'none';
    if (this.inFlight.freeSlots === 0) {
      this.#cursor.hasBacklog = true;
      return 'full';
    }
    await this.#recovery.recoverIfDue();
    const { found, mayBeMore } = await claimDue(this.#options, this.inFlight, this.#cursor);
    for (const { org } of found) this.inFlight.reserveClaimed(org);
    this.start(found);
    return mayBeMore ? 'more' : 'none';
  }

  async #work(item: LeasedRecipient): Promise<void> {
    if (item.refusal) return this.#settle(refuseRecipient(item, item.refusal));
    const outcome = this.#isPaused(item) ? requeue(item) : await attempt(this.#options, this.#contents, item, () => this.#shouldSend(item));
    // A message that was still waiting for a connection when its organization was paused was not attempted either.
    this.#settle(this.#isPaused(item) && outcome.row.state === 'deferred' && !outcome.row.counts ? requeue(item) : outcome);
  }

  #isPaused({ org }: LeasedRecipient): boolean {
    return this.#cursor.pausedOrgs.has(org);
  }

  #shouldSend(item: LeasedRecipient): boolean {
    return !item.isLost && !this.#isPaused(item) && performance.now() < item.sendDeadline;
  }

  #settle(outcome: PendingOutcome): void {
    // Synchronously, in the event-loop turn that read the remote server's reply.
    const onSettled = isFinal(outcome.row.state) ? appendToJournal(this.#options.app, this.#journal, outcome.row) : undefined;
    this.#contents.forget(outcome.item);
    this.#settler.add(onSettled ? { ...outcome, onSettled } : outcome);
  }

  /** The database has the outcome, or refused it because the lease was lost. */
  #settled({ item, row, onSettled }: PendingOutcome, isLost: boolean): void {
    if (isLost) this.#lost++;
    this.#options.onOutcome?.(isLost ? 'lost' : row.state);
    onSettled?.();
    this.inFlight.remove(item);
    // A freed slot is worth a claim only if rows may wait for one.
    if (this.#cursor.hasBacklog || !isFinal(row.state)) this.#claimLoop.nudge();
  }
}

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
