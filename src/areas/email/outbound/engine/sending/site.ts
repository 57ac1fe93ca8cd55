import { runFor, TenantThrottled } from '../../../../../kernel/fairness/index.ts';
import { GuardRefusal } from '../../../../../kernel/guard/index.ts';
import type { Logger } from '../../../../../kernel/log.ts';
import { SmtpFailure } from '../../clients/smtp/failure.ts';
import type { Decision, Session } from '../../clients/smtp/session.ts';
import { retryDelaySeconds } from '../../rules/retry.ts';
import type { SiteLimits } from '../../rules/site.ts';
import type { LocalReason, Outcome, Outgoing, ServerReply } from '../outgoing.ts';
import type { Clock } from './clock.ts';
import { OpenRate } from './open-rate.ts';
import { outcomeOf, replyOfDecision, replyOfFailure } from './outcome.ts';
import { SiteBackoff } from './site-backoff.ts';
import { type SiteConnection, SiteConnections } from './site-connections.ts';
import { SitePace } from './site-pace.ts';
import { maxQueueMs, SiteQueue, type WaitingMessage } from './site-queue.ts';
import type { ConnectionSlots, Slot, SlotHolder } from './slots.ts';

export interface SiteOptions {
  key: string;
  limits: SiteLimits;
  isSmartHost: boolean;
  /** Opens a session with one of the site's hosts. */
  open(signal: AbortSignal): Promise<Session>;
  slots: ConnectionSlots;
  clock: Clock;
  random: () => number;
  log: Logger;
  /** An idle session is closed after this long. */
  idleMs: number;
  /** Aborted once the grace period of a stop is over. */
  signal: AbortSignal;
}

const overdueRetrySeconds = 60;
const throttledRetrySeconds = 5;
const stoppingReply: ServerReply = { stage: 'connect', response: 'this server stops' };

/**
 * One set of mail servers. A message waits in the queue, gets an idle session or a new one, and is settled by the server's reply. A failure to
 * connect, and a refused or repeatedly lost session, puts the site in backoff, which settles all waiting messages.
 */
export class Site implements SlotHolder {
  readonly #options: SiteOptions;
  readonly #queue: SiteQueue;
  readonly #connections: SiteConnections;
  readonly #pace: SitePace;
  readonly #backoff: SiteBackoff;
  readonly #openRate: OpenRate;
  #isStopped = false;

  constructor(options: SiteOptions) {
    const { limits, clock, random, idleMs } = options;
    this.#options = options;
    this.#queue = new SiteQueue(clock, (overdue, waitingBefore) => this.#settleOverdue(overdue, waitingBefore));
    this.#connections = new SiteConnections(clock, idleMs);
    this.#pace = new SitePace(limits.connections, clock);
    this.#backoff = new SiteBackoff(clock, random);
    this.#openRate = new OpenRate(limits.connectionsPerMinute, clock, () => this.dispatch());
  }

  get connections(): number {
    return this.#connections.count;
  }

  get active(): number {
    return this.#connections.active;
  }

  get waiting(): number {
    return this.#queue.size;
  }

  /** The current connection limit: one until the site has answered a message. */
  get maxConnections(): number {
    return this.#pace.maxConnections;
  }

  waitingOf(org: string): number {
    return this.#queue.sizeOf(org);
  }

  /** Remaining seconds of backoff. */
  get backoffSeconds(): number {
    return this.#backoff.seconds;
  }

  get isEvictable(): boolean {
    return this.connections === 0 && this.waiting === 0 && this.backoffSeconds === 0;
  }

  enqueue(item: Outgoing, settle: (outcome: Outcome) => void) {
    if (this.#isStopped) return settle(this.#waitOutcome(0, stoppingReply, 'stop'));
    if (this.backoffSeconds > 0) return settle(this.#waitOutcome(this.backoffSeconds, this.#backoff.lastFailure!));
    this.#queue.add(item, settle);
    this.dispatch();
  }

  /** Gives messages to idle sessions, and opens more sessions while messages wait. */
  dispatch() {
    while (this.#connections.hasIdle) {
      const message = this.#nextMessage();
      if (message === undefined) break;
      void this.#deliver(this.#connections.takeIdle(), message);
    }
    while (this.#mayOpen()) {
      const slot = this.#options.slots.acquire(this, !this.#pace.isProven, this.#queue.orgs);
      if (slot === undefined) return;
      this.#openRate.take();
      const { orgs } = this.#queue;
      void this.#open(slot, orgs[this.#connections.opening % orgs.length]!);
    }
  }

  closeIdle(slot: Slot) {
    this.#connections.retireIdleOf(slot);
  }

  /** Settles waiting messages; each session ends after its current message. */
  stop() {
    this.#isStopped = true;
    this.#openRate.stop();
    this.#queue.stop();
    for (const { settle } of this.#queue.drain()) settle(this.#waitOutcome(0, stoppingReply, 'stop'));
    this.#connections.retireAllIdle();
  }

  /** Ends every session at once: the grace period is over. */
  abandon() {
    this.#connections.abandonAll('this server stops');
  }

  #mayOpen(): boolean {
    const isWanted = this.#queue.size > this.#connections.opening && this.connections < this.maxConnections;
    return isWanted && !this.#isStopped && this.#openRate.hasToken();
  }

  /** Charged to an organization whose message is next now; another one's message may be next once the session is open. */
  async #open(slot: Slot, org: string): Promise<void> {
    const { signal, slots } = this.#options;
    this.#connections.beginOpening();
    let session: Session;
    try {
      session = await runFor({ org, operation: 'email.send' }, () => this.#options.open(signal));
    } catch (error) {
      this.#connections.endOpening();
      if (error instanceof TenantThrottled) this.#openThrottled(org, error);
      else this.#openFailed(error);
      slots.release(slot);
      return;
    }
    this.#connections.endOpening();
    this.#backoff.end();
    const connection = this.#connections.add(session, slot);
    session.onEnd = () => this.#connectionEnded(connection);
    if (session.isClosed) this.#connectionEnded(connection);
    else this.#deliverNextOrIdle(connection);
  }

  /** The organization has used up its share of lookups or connections. Only its own messages wait; the others open sessions in their own name. */
  #openThrottled(org: string, { message }: TenantThrottled) {
    this.#openRate.giveBack();
    for (const { settle } of this.#queue.drainOf(org))
      settle(this.#waitOutcome(throttledRetrySeconds, { stage: 'here', response: message }, 'ours'));
    queueMicrotask(() => this.dispatch());
  }

  #openFailed(error: unknown) {
    if (this.#isStopped) return;
    const serverReply = replyOfFailure(error);
    if (error instanceof GuardRefusal) {
      for (const { settle } of this.#queue.drain()) settle({ kind: 'bounced', bounceType: 'block', class: 'BadDomain', serverReply });
      return;
    }
    if (!(error instanceof SmtpFailure))
      this.#options.log.error({ err: error, site: this.#options.key }, 'a mail session could not be opened');
    if (this.#connections.open > 0) this.#pace.limitTo(this.#connections.open);
    else this.#backOff(serverReply);
  }

  /** Starts the backoff, and sends all waiting messages back to their rows. */
  #backOff(serverReply: ServerReply) {
    const { log, key } = this.#options;
    this.#pace.putOnTrial();
    const seconds = this.#backoff.start(serverReply);
    if (seconds !== undefined)
      log.info(
        { site: key, seconds, stage: serverReply.stage, why: serverReply.response, waiting: this.waiting },
        'a mail site is in backoff',
      );
    for (const { settle } of this.#queue.drain()) settle(this.#waitOutcome(this.backoffSeconds, serverReply));
  }

  /** A smart host belongs to the operator: while it is unreachable or refuses us, no message expires. */
  #waitOutcome(
    seconds: number,
    serverReply: ServerReply,
    because: LocalReason | undefined = this.#options.isSmartHost ? 'ours' : undefined,
  ): Outcome {
    const afterSeconds = seconds + Math.round(seconds * 0.1 * this.#options.random());
    return { kind: 'waits', afterSeconds, serverReply, ...(because ? { because } : {}) };
  }

  #settleOverdue(overdue: WaitingMessage[], waitingBefore: number) {
    const response = `its turn did not come within ${maxQueueMs / 60_000} minutes; ${waitingBefore} wait for these mail servers, which take ${this.maxConnections} at once`;
    for (const { settle } of overdue) settle(this.#waitOutcome(overdueRetrySeconds, { stage: 'here', response }, 'ours'));
  }

  /** The session is free: it gets the next message, becomes idle, or is closed. */
  #deliverNextOrIdle(connection: SiteConnection) {
    const { limits, slots } = this.#options;
    const isUsedUp = connection.session.sent >= limits.messagesPerConnection || this.active > this.maxConnections || this.#isStopped;
    if (isUsedUp || slots.shouldYield(this)) return this.#connections.retire(connection);
    const message = this.#nextMessage();
    if (message !== undefined) return void this.#deliver(connection, message);
    slots.markIdle(connection.slot);
    this.#connections.makeIdle(connection);
  }

  #nextMessage(): WaitingMessage | undefined {
    for (let message = this.#queue.next(); message !== undefined; message = this.#queue.next()) {
      if (message.item.shouldSend?.() !== false) return message;
      message.settle(this.#waitOutcome(0, { stage: 'here', response: 'it was taken back before its turn came' }, 'stop'));
    }
    return undefined;
  }

  #connectionEnded(connection: SiteConnection) {
    if (!this.#connections.remove(connection)) return;
    // Deferred, so that no message is sent from within a socket's close callback.
    queueMicrotask(() => {
      this.#options.slots.release(connection.slot);
      this.dispatch();
    });
  }

  async #deliver(connection: SiteConnection, message: WaitingMessage): Promise<void> {
    const { item } = message;
    this.#connections.makeBusy(connection);
    this.#options.slots.markBusy(connection.slot);
    try {
      const envelope = { from: item.returnPath, to: item.address, bytes: item.bytes };
      this.#replied(connection, message, await connection.session.deliver(envelope, item.content));
    } catch (error) {
      this.#connectionLost(connection, message, error);
    }
    if (!connection.session.isClosed) this.#deliverNextOrIdle(connection);
  }

  #replied({ session, slot }: SiteConnection, message: WaitingMessage, decision: Decision) {
    const { isSmartHost, random, slots } = this.#options;
    const { stage, reply } = decision;
    const serverReply = replyOfDecision(decision, session.remote);
    // A 421 to MAIL is about the session, not about the message.
    if (reply.code === 421 && stage === 'mail') return this.#sessionRefused(session, message, serverReply);
    const outcome = outcomeOf(message.item, decision, serverReply, isSmartHost, random());
    if (outcome === 'misconfigured') return this.#waitAndBackOff(message, serverReply);
    this.#backoff.forgetFailures();
    this.#pace.passTrial();
    slots.passTrial(slot);
    this.#pace.noteAnswer(decision);
    if (reply.code === 503) session.abandon('it lost count of our commands');
    message.settle(outcome);
  }

  #sessionRefused(session: Session, message: WaitingMessage, serverReply: ServerReply) {
    if (session.sent > 1 && !message.isRetried) return this.#retry(message);
    this.#waitAndBackOff(message, serverReply);
  }

  #waitAndBackOff(message: WaitingMessage, serverReply: ServerReply) {
    message.settle(this.#waitOutcome(this.#backoff.nextSeconds(), serverReply));
    this.#backOff(serverReply);
  }

  #retry(message: WaitingMessage) {
    if (this.#isStopped) return message.settle(this.#waitOutcome(0, stoppingReply, 'stop'));
    message.isRetried = true;
    this.#queue.addFirst(message);
    this.dispatch();
  }

  /** The session ended without a reply about the message. */
  #connectionLost({ session }: SiteConnection, message: WaitingMessage, error: unknown) {
    const serverReply = replyOfFailure(error, session.remote);
    if (!(error instanceof SmtpFailure) || error.kind === 'content') return this.#contentFailed(session, message, error, serverReply);
    if (this.#isStopped) return message.settle({ kind: 'waits', afterSeconds: 0, serverReply, because: 'stop' });
    const wasStale = session.sent > 1 && error.kind === 'closed' && (error.stage === 'mail' || error.stage === 'rset');
    if (wasStale && !message.isRetried) return this.#retry(message);
    this.#pace.noteLoss();
    const afterSeconds = retryDelaySeconds(message.item.tries, this.#options.random());
    message.settle({ kind: 'deferred', afterSeconds, class: 'TransientFailure', serverReply });
    if (this.#backoff.countLoss()) this.#backOff(serverReply);
  }

  /** A local error: the message could not be read. */
  #contentFailed(session: Session, message: WaitingMessage, error: unknown, serverReply: ServerReply) {
    const { log, key } = this.#options;
    log.error(
      { err: error instanceof SmtpFailure ? (error.cause ?? error) : error, site: key, message: message.item.messageId },
      'a message could not be sent',
    );
    session.abandon('the message could not be read here');
    message.settle({ kind: 'waits', afterSeconds: 60, serverReply, because: 'ours' });
  }
}
