import { RoundRobinQueue, runFor, TenantThrottled } from '../../../../../kernel/fairness/index.ts';
import { GuardRefusal } from '../../../../../kernel/guard/index.ts';
import type { Logger } from '../../../../../kernel/log.ts';
import { SmtpFailure } from '../../clients/smtp/failure.ts';
import type { Decision, Session } from '../../clients/smtp/session.ts';
import { asksForLess, classifyReply } from '../../rules/bounces/reply.ts';
import { retryDelaySeconds, siteBackoffSeconds } from '../../rules/retry.ts';
import { adjustConcurrency, initialConcurrency, type SiteConcurrency, type SiteLimits } from '../../rules/site.ts';
import type { LocalReason, Outcome, Outgoing, ServerReply } from '../outgoing.ts';
import type { Clock } from './clock.ts';
import { outcomeOf, replyOfDecision, replyOfFailure } from './outcome.ts';
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

interface WaitingMessage {
  item: Outgoing;
  /** Monotonic milliseconds. */
  queuedAt: number;
  settle: (outcome: Outcome) => void;
  /** It met a session that the remote server had closed already. It is retried at once only the first time. */
  isRetried: boolean;
}

interface SiteConnection {
  session: Session;
  slot: Slot;
  cancelIdle: (() => void) | undefined;
  isRetiring: boolean;
}

/** One session lost in the middle of a message defers that message; this many in a row put the site in backoff. */
const maxLossesInARow = 3;
/** Longest wait for a connection. Then the message goes back to its row, where users see the reason. */
const maxQueueMs = 600_000;
const overdueRetrySeconds = 60;
const throttledRetrySeconds = 5;
const stoppingReply: ServerReply = { stage: 'connect', response: 'this server stops' };

/** One set of mail servers: the messages that wait for it, its connections, its connection limit and its backoff. */
export class Site implements SlotHolder {
  readonly #options: SiteOptions;
  readonly #queue = new RoundRobinQueue<WaitingMessage>();
  readonly #openConnections = new Set<SiteConnection>();
  readonly #idle: SiteConnection[] = [];
  #opening = 0;
  #retiring = 0;
  #pace: SiteConcurrency;
  #isProven = false;
  #failures = 0;
  #losses = 0;
  #backoffUntil = 0;
  #lastFailure: ServerReply | undefined;
  #tokens: number;
  #tokensAt: number;
  #cancelRefill: (() => void) | undefined;
  #cancelQueueTimer: (() => void) | undefined;
  #isStopped = false;

  constructor(options: SiteOptions) {
    this.#options = options;
    const now = options.clock.now();
    this.#pace = initialConcurrency(options.limits.connections, now);
    this.#tokens = options.limits.connectionsPerMinute;
    this.#tokensAt = now;
  }

  get connections(): number {
    return this.#openConnections.size + this.#opening;
  }

  get active(): number {
    return this.connections - this.#retiring;
  }

  get waiting(): number {
    return this.#queue.size;
  }

  /** The current connection limit: one until the site has answered a message. */
  get maxConnections(): number {
    return this.#isProven ? this.#pace.connections : 1;
  }

  waitingOf(org: string): number {
    return this.#queue.sizeOf(org);
  }

  /** Remaining seconds of backoff. */
  get backoffSeconds(): number {
    return Math.max(0, Math.ceil((this.#backoffUntil - this.#options.clock.now()) / 1000));
  }

  get isEvictable(): boolean {
    return this.connections === 0 && this.waiting === 0 && this.backoffSeconds === 0;
  }

  enqueue(item: Outgoing, settle: (outcome: Outcome) => void) {
    if (this.#isStopped) return settle(this.#waitOutcome(0, stoppingReply, 'stop'));
    if (this.backoffSeconds > 0) return settle(this.#waitOutcome(this.backoffSeconds, this.#lastFailure!));
    this.#queue.push(item.org, { item, settle, isRetried: false, queuedAt: this.#options.clock.now() });
    this.#watchQueueTime();
    this.dispatch();
  }

  /** One timer for all waiting messages. */
  #watchQueueTime() {
    const { clock } = this.#options;
    this.#cancelQueueTimer ??= clock.after(maxQueueMs / 2, () => {
      this.#cancelQueueTimer = undefined;
      const waiting = this.waiting;
      const overdue = this.#queue.removeWhile(({ queuedAt }) => clock.now() - queuedAt >= maxQueueMs);
      const response = `its turn did not come within ${maxQueueMs / 60_000} minutes; ${waiting} wait for these mail servers, which take ${this.maxConnections} at once`;
      for (const { settle } of overdue) settle(this.#waitOutcome(overdueRetrySeconds, { stage: 'here', response }, 'ours'));
      if (this.waiting > 0 && !this.#isStopped) this.#watchQueueTime();
    });
  }

  /** Gives messages to idle sessions, and opens more sessions while messages wait. */
  dispatch() {
    for (let message: WaitingMessage | undefined; this.#idle.length > 0; void this.#deliver(this.#idle.pop()!, message)) {
      message = this.#nextMessage();
      if (message === undefined) break;
    }
    while (this.#queue.size > this.#opening && this.connections < this.maxConnections && !this.#isStopped && this.#takeOpenToken()) {
      const slot = this.#options.slots.acquire(this, !this.#isProven, this.#queue.keys);
      if (slot === undefined) return;
      this.#tokens -= 1;
      const { keys: orgs } = this.#queue;
      void this.#open(slot, orgs[this.#opening % orgs.length]!);
    }
  }

  closeIdle(slot: Slot) {
    const connection = this.#idle.find((idle) => idle.slot === slot);
    if (connection !== undefined) this.#retire(connection);
  }

  /** Settles waiting messages; each session ends after its current message. */
  stop() {
    this.#isStopped = true;
    this.#cancelRefill?.();
    this.#cancelQueueTimer?.();
    for (const { settle } of this.#queue.drain()) settle(this.#waitOutcome(0, stoppingReply, 'stop'));
    for (const connection of [...this.#idle]) this.#retire(connection);
  }

  /** Ends every session at once: the grace period is over. */
  abandon() {
    for (const { session } of [...this.#openConnections]) session.abandon('this server stops');
  }

  /** A token bucket for new connections per minute. */
  #takeOpenToken(): boolean {
    const { limits, clock } = this.#options;
    const now = clock.now();
    const perMs = limits.connectionsPerMinute / 60_000;
    this.#tokens = Math.min(limits.connectionsPerMinute, this.#tokens + (now - this.#tokensAt) * perMs);
    this.#tokensAt = now;
    if (this.#tokens >= 1) return true;
    this.#cancelRefill ??= clock.after(Math.ceil(1 / perMs), () => {
      this.#cancelRefill = undefined;
      this.dispatch();
    });
    return false;
  }

  /** Charged to an organization whose message is next now; another one's message may be next once the session is open. */
  async #open(slot: Slot, org: string): Promise<void> {
    this.#opening += 1;
    let session: Session;
    try {
      session = await runFor({ org, operation: 'email.send' }, () => this.#options.open(this.#options.signal));
    } catch (error) {
      this.#opening -= 1;
      if (error instanceof TenantThrottled) this.#openThrottled(org, error);
      else this.#openFailed(error);
      this.#options.slots.release(slot);
      return;
    }
    this.#opening -= 1;
    this.#backoffUntil = 0;
    const connection: SiteConnection = { session, slot, cancelIdle: undefined, isRetiring: false };
    this.#openConnections.add(connection);
    session.onEnd = () => this.#connectionEnded(connection);
    if (session.isClosed) this.#connectionEnded(connection);
    else this.#deliverNextOrIdle(connection);
  }

  /** The organization has used up its share of lookups or connections. Only its own messages wait; the others open sessions in their own name. */
  #openThrottled(org: string, { message }: TenantThrottled) {
    this.#tokens += 1; // nothing was connected
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
    // The site refuses a further connection but keeps the open ones: that is its connection limit, not a failure.
    if (this.#openConnections.size > 0) {
      this.#pace = {
        ...this.#pace,
        connections: this.#openConnections.size,
        windowStartedAt: this.#options.clock.now(),
        accepted: 0,
        deferred: 0,
      };
      return;
    }
    this.#backOff(serverReply);
  }

  /** Starts the backoff, and sends all waiting messages back to their rows. */
  #backOff(serverReply: ServerReply) {
    const { clock, random, log, key } = this.#options;
    this.#isProven = false;
    this.#losses = 0;
    // Connections that fail at the same time count as one failure.
    if (this.backoffSeconds === 0) {
      this.#failures += 1;
      const seconds = siteBackoffSeconds(this.#failures, random());
      this.#backoffUntil = clock.now() + 1000 * seconds;
      this.#lastFailure = serverReply;
      log.info(
        { site: key, seconds, stage: serverReply.stage, why: serverReply.response, waiting: this.waiting },
        'a mail site is in backoff',
      );
    }
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

  /** The session is free: it gets the next message, becomes idle, or is closed. */
  #deliverNextOrIdle(connection: SiteConnection) {
    const { limits, slots, clock, idleMs } = this.#options;
    const isUsedUp = connection.session.sent >= limits.messagesPerConnection || this.active > this.maxConnections || this.#isStopped;
    if (isUsedUp || slots.shouldYield(this)) return this.#retire(connection);
    const message = this.#nextMessage();
    if (message !== undefined) return void this.#deliver(connection, message);
    slots.markIdle(connection.slot);
    this.#idle.push(connection);
    connection.cancelIdle = clock.after(idleMs, () => this.#retire(connection));
  }

  #nextMessage(): WaitingMessage | undefined {
    for (let message = this.#queue.next(); message !== undefined; message = this.#queue.next()) {
      if (message.item.shouldSend?.() !== false) return message;
      message.settle(this.#waitOutcome(0, { stage: 'here', response: 'it was taken back before its turn came' }, 'stop'));
    }
    return undefined;
  }

  /** The session gets no more messages, and is gone once the remote server has closed it too. */
  #retire(connection: SiteConnection) {
    this.#removeFromIdle(connection);
    if (!connection.isRetiring) this.#retiring += 1;
    connection.isRetiring = true;
    connection.session.quit();
  }

  #removeFromIdle(connection: SiteConnection) {
    const at = this.#idle.indexOf(connection);
    if (at >= 0) this.#idle.splice(at, 1);
    connection.cancelIdle?.();
  }

  #connectionEnded(connection: SiteConnection) {
    if (!this.#openConnections.delete(connection)) return;
    this.#removeFromIdle(connection);
    if (connection.isRetiring) this.#retiring -= 1;
    // Deferred, so that no message is sent from within a socket's close callback.
    queueMicrotask(() => {
      this.#options.slots.release(connection.slot);
      this.dispatch();
    });
  }

  async #deliver(connection: SiteConnection, message: WaitingMessage): Promise<void> {
    const { item } = message;
    connection.cancelIdle?.();
    connection.cancelIdle = undefined;
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
    if (outcome === 'misconfigured') {
      message.settle(this.#waitOutcome(siteBackoffSeconds(this.#failures + 1, random()), serverReply));
      return this.#backOff(serverReply);
    }
    this.#failures = 0;
    this.#losses = 0;
    this.#isProven = true;
    slots.passTrial(slot);
    this.#notePace(decision);
    if (reply.code === 503) session.abandon('it lost count of our commands');
    message.settle(outcome);
  }

  #notePace({ stage, reply }: Decision) {
    const { limits, clock } = this.#options;
    const isLater = reply.code >= 400 && reply.code < 500 && classifyReply({ ...reply, stage }).class !== 'Greylisted';
    const said = !isLater ? 'good' : asksForLess(reply.text, reply.enhanced) ? 'asksForLess' : 'later';
    this.#pace = adjustConcurrency(this.#pace, limits.connections, clock.now(), said);
  }

  #sessionRefused(session: Session, message: WaitingMessage, serverReply: ServerReply) {
    if (session.sent > 1 && !message.isRetried) return this.#retry(message);
    message.settle(this.#waitOutcome(siteBackoffSeconds(this.#failures + 1, this.#options.random()), serverReply));
    this.#backOff(serverReply);
  }

  #retry(message: WaitingMessage) {
    if (this.#isStopped) return message.settle(this.#waitOutcome(0, stoppingReply, 'stop'));
    message.isRetried = true;
    this.#queue.pushFirst(message.item.org, message);
    this.dispatch();
  }

  /** The session ended without a reply about the message. */
  #connectionLost({ session }: SiteConnection, message: WaitingMessage, error: unknown) {
    const { random, log, key, clock, limits } = this.#options;
    const serverReply = replyOfFailure(error, session.remote);
    if (!(error instanceof SmtpFailure) || error.kind === 'content') {
      log.error(
        { err: error instanceof SmtpFailure ? (error.cause ?? error) : error, site: key, message: message.item.messageId },
        'a message could not be sent',
      );
      session.abandon('the message could not be read here');
      return message.settle({ kind: 'waits', afterSeconds: 60, serverReply, because: 'ours' });
    }
    if (this.#isStopped) return message.settle({ kind: 'waits', afterSeconds: 0, serverReply, because: 'stop' });
    const wasStale = session.sent > 1 && error.kind === 'closed' && (error.stage === 'mail' || error.stage === 'rset');
    if (wasStale && !message.isRetried) return this.#retry(message);
    this.#pace = adjustConcurrency(this.#pace, limits.connections, clock.now(), 'later');
    message.settle({
      kind: 'deferred',
      afterSeconds: retryDelaySeconds(message.item.tries, random()),
      class: 'TransientFailure',
      serverReply,
    });
    this.#losses += 1;
    if (this.#losses >= maxLossesInARow) this.#backOff(serverReply);
  }
}
