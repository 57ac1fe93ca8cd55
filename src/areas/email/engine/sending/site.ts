import { runFor, TenantThrottled } from '../../../../kernel/fairness/index.ts';
import { GuardRefusal } from '../../../../kernel/guard/index.ts';
import type { Logger } from '../../../../kernel/log.ts';
import { SmtpFailure } from '../../clients/smtp/failure.ts';
import type { Decision, Session } from '../../clients/smtp/session.ts';
import { asksForLess, judgeReply } from '../../rules/bounces/reply.ts';
import { delayAfter, restAfter } from '../../rules/retry.ts';
import { firstPace, notePace, type Pace, type SiteLimits } from '../../rules/site.ts';
import type { Outcome, Outgoing, OwnReason, Told } from '../outgoing.ts';
import type { Clock } from './clock.ts';
import { outcomeOf, tellDecision, tellFailure } from './outcome.ts';
import type { Slot, Slots, SlotUser } from './slots.ts';
import { Turns } from './turns.ts';

/** What a site is given. */
export interface SiteNeeds {
  key: string;
  limits: SiteLimits;
  isSmartHost: boolean;
  /** A session with one of its hosts; throws what stood in the way. */
  open(signal: AbortSignal): Promise<Session>;
  slots: Slots;
  clock: Clock;
  random: () => number;
  log: Logger;
  /** Sessions without work are closed after so long. */
  idleMs: number;
  /** Aborted when this server stops without further patience. */
  signal: AbortSignal;
}

interface Held {
  item: Outgoing;
  /** When it came to stand in this line. */
  since: number;
  settle: (outcome: Outcome) => void;
  /** It met a session that had ended unnoticed; that happens once. */
  isRetried: boolean;
}

interface Line {
  session: Session;
  slot: Slot;
  cancelIdle: (() => void) | undefined;
  isRetiring: boolean;
}

/** Sessions that break in the middle of a message say something about it; so many in a row say something about the site. */
const lossesThatCount = 3;
/** So long a message stands in this line. Then it goes back to its row, where its reason is seen and its days are counted. */
const patienceMs = 600_000;
const overdueSeconds = 60;
const crowdedSeconds = 5;
const stops: Told = { stage: 'connect', response: 'this server stops' };

/** One set of mail servers: who waits for it, the sessions with it, and its pace. */
export class Site implements SlotUser {
  readonly #needs: SiteNeeds;
  readonly #turns = new Turns<Held>();
  readonly #lines = new Set<Line>();
  readonly #idle: Line[] = [];
  #opening = 0;
  #retiring = 0;
  #pace: Pace;
  #isProven = false;
  #failures = 0;
  #losses = 0;
  #restUntil = 0;
  #told: Told | undefined;
  #tokens: number;
  #tokensAt: number;
  #cancelRefill: (() => void) | undefined;
  #cancelPatience: (() => void) | undefined;
  #isStopped = false;

  constructor(needs: SiteNeeds) {
    this.#needs = needs;
    const now = needs.clock.now();
    this.#pace = firstPace(needs.limits.connections, now);
    this.#tokens = needs.limits.connectionsPerMinute;
    this.#tokensAt = now;
  }

  get connections(): number {
    return this.#lines.size + this.#opening;
  }

  get active(): number {
    return this.connections - this.#retiring;
  }

  get held(): number {
    return this.#turns.size;
  }

  /** How many connections it may have, as it is now. */
  get pace(): number {
    return this.#isProven ? this.#pace.connections : 1;
  }

  heldOf(org: string): number {
    return this.#turns.sizeOf(org);
  }

  /** Seconds for which it is left alone. */
  get rest(): number {
    return Math.max(0, Math.ceil((this.#restUntil - this.#needs.clock.now()) / 1000));
  }

  get isForgettable(): boolean {
    return this.connections === 0 && this.held === 0 && this.rest === 0;
  }

  take(item: Outgoing, settle: (outcome: Outcome) => void) {
    if (this.#isStopped) return settle(this.#wait(0, stops, 'stop'));
    if (this.rest > 0) return settle(this.#wait(this.rest, this.#told!));
    this.#turns.push(item.org, { item, settle, isRetried: false, since: this.#needs.clock.now() });
    this.#watchPatience();
    this.serve();
  }

  /** One timer for all who wait here. */
  #watchPatience() {
    const { clock } = this.#needs;
    this.#cancelPatience ??= clock.after(patienceMs / 2, () => {
      this.#cancelPatience = undefined;
      const waiting = this.held;
      const overdue = this.#turns.removeWhile(({ since }) => clock.now() - since >= patienceMs);
      const response = `its turn did not come within ${patienceMs / 60_000} minutes; ${waiting} wait for these mail servers, which take ${this.pace} at once`;
      for (const { settle } of overdue) settle(this.#wait(overdueSeconds, { stage: 'here', response }, 'ours'));
      if (this.held > 0 && !this.#isStopped) this.#watchPatience();
    });
  }

  /** Gives work to sessions, and opens more of them while there is more work. */
  serve() {
    for (let held: Held | undefined; this.#idle.length > 0; void this.#run(this.#idle.pop()!, held)) {
      held = this.#nextHeld();
      if (held === undefined) break;
    }
    while (this.#turns.size > this.#opening && this.connections < this.pace && !this.#isStopped && this.#mayOpen()) {
      const slot = this.#needs.slots.take(this, !this.#isProven, this.#turns.orgs);
      if (slot === undefined) return;
      this.#tokens -= 1;
      const { orgs } = this.#turns;
      void this.#open(slot, orgs[this.#opening % orgs.length]!);
    }
  }

  closeIdle(slot: Slot) {
    const line = this.#idle.find((idle) => idle.slot === slot);
    if (line !== undefined) this.#retire(line);
  }

  /** What waits is told so; sessions end once their message is through. */
  stop() {
    this.#isStopped = true;
    this.#cancelRefill?.();
    this.#cancelPatience?.();
    for (const { settle } of this.#turns.drain()) settle(this.#wait(0, stops, 'stop'));
    for (const line of [...this.#idle]) this.#retire(line);
  }

  /** What is under way is given up: this server waits no longer. */
  abandon() {
    for (const { session } of [...this.#lines]) session.abandon('this server stops');
  }

  /** New connections a minute: a bucket that fills evenly. */
  #mayOpen(): boolean {
    const { limits, clock } = this.#needs;
    const now = clock.now();
    const perMs = limits.connectionsPerMinute / 60_000;
    this.#tokens = Math.min(limits.connectionsPerMinute, this.#tokens + (now - this.#tokensAt) * perMs);
    this.#tokensAt = now;
    if (this.#tokens >= 1) return true;
    this.#cancelRefill ??= clock.after(Math.ceil(1 / perMs), () => {
      this.#cancelRefill = undefined;
      this.serve();
    });
    return false;
  }

  /** In the name of one of those whose turn is next, whoever's turn it is once it is open. */
  async #open(slot: Slot, org: string): Promise<void> {
    this.#opening += 1;
    let session: Session;
    try {
      session = await runFor({ org, operation: 'email.send' }, () => this.#needs.open(this.#needs.signal));
    } catch (error) {
      this.#opening -= 1;
      if (error instanceof TenantThrottled) this.#crowded(org, error);
      else this.#notOpened(error);
      this.#needs.slots.give(slot);
      return;
    }
    this.#opening -= 1;
    this.#restUntil = 0;
    const line: Line = { session, slot, cancelIdle: undefined, isRetiring: false };
    this.#lines.add(line);
    session.onEnd = () => this.#ended(line);
    if (session.isOver) this.#ended(line);
    else this.#next(line);
  }

  /** It has used up its share of what opening takes. That is nobody else's matter: whoever else waits here opens in their own name. */
  #crowded(org: string, { message }: TenantThrottled) {
    this.#tokens += 1; // nothing was connected
    for (const { settle } of this.#turns.drainOf(org)) settle(this.#wait(crowdedSeconds, { stage: 'here', response: message }, 'ours'));
    queueMicrotask(() => this.serve());
  }

  #notOpened(error: unknown) {
    if (this.#isStopped) return;
    const told = tellFailure(error);
    if (error instanceof GuardRefusal) {
      for (const { settle } of this.#turns.drain()) settle({ kind: 'bounced', bounceType: 'block', class: 'BadDomain', told });
      return;
    }
    if (!(error instanceof SmtpFailure)) this.#needs.log.error({ err: error, site: this.#needs.key }, 'a mail session could not be opened');
    // It takes no more of us at once, but speaks with us: that is its pace, not a failure.
    if (this.#lines.size > 0) {
      this.#pace = { ...this.#pace, connections: this.#lines.size, since: this.#needs.clock.now(), good: 0, later: 0 };
      return;
    }
    this.#leaveAlone(told);
  }

  /** Everybody who waits for it waits elsewhere, until it may be tried again. */
  #leaveAlone(told: Told) {
    const { clock, random, log, key } = this.#needs;
    this.#isProven = false;
    this.#losses = 0;
    // Connections that fail together are one failure.
    if (this.rest === 0) {
      this.#failures += 1;
      const seconds = restAfter(this.#failures, random());
      this.#restUntil = clock.now() + 1000 * seconds;
      this.#told = told;
      log.info({ site: key, seconds, stage: told.stage, why: told.response, waiting: this.held }, 'a mail site is left alone');
    }
    for (const { settle } of this.#turns.drain()) settle(this.#wait(this.rest, told));
  }

  /** A smart host is the operator's own: while it cannot be reached or refuses us, nothing is given up. */
  #wait(seconds: number, told: Told, because: OwnReason | undefined = this.#needs.isSmartHost ? 'ours' : undefined): Outcome {
    const afterSeconds = seconds + Math.round(seconds * 0.1 * this.#needs.random());
    return { kind: 'waits', afterSeconds, told, ...(because ? { because } : {}) };
  }

  /** The session is free: the next message, or a rest. */
  #next(line: Line) {
    const { limits, slots, clock, idleMs } = this.#needs;
    const isUsedUp = line.session.sent >= limits.messagesPerConnection || this.active > this.pace || this.#isStopped;
    if (isUsedUp || slots.wantsBack(this)) return this.#retire(line);
    const held = this.#nextHeld();
    if (held !== undefined) return void this.#run(line, held);
    slots.rest(line.slot);
    this.#idle.push(line);
    line.cancelIdle = clock.after(idleMs, () => this.#retire(line));
  }

  #nextHeld(): Held | undefined {
    for (let held = this.#turns.next(); held !== undefined; held = this.#turns.next()) {
      if (held.item.isWanted?.() !== false) return held;
      held.settle(this.#wait(0, { stage: 'here', response: 'it was taken back before its turn came' }, 'stop'));
    }
    return undefined;
  }

  /** Gets no more work, and is gone once the other side has closed it too. */
  #retire(line: Line) {
    this.#putAway(line);
    if (!line.isRetiring) this.#retiring += 1;
    line.isRetiring = true;
    line.session.quit();
  }

  #putAway(line: Line) {
    const at = this.#idle.indexOf(line);
    if (at >= 0) this.#idle.splice(at, 1);
    line.cancelIdle?.();
  }

  #ended(line: Line) {
    if (!this.#lines.delete(line)) return;
    this.#putAway(line);
    if (line.isRetiring) this.#retiring -= 1;
    // In a turn of its own: nothing of ours runs inside the callback of a socket that closes.
    queueMicrotask(() => {
      this.#needs.slots.give(line.slot);
      this.serve();
    });
  }

  async #run(line: Line, held: Held): Promise<void> {
    const { item } = held;
    line.cancelIdle?.();
    line.cancelIdle = undefined;
    this.#needs.slots.begin(line.slot);
    try {
      const envelope = { from: item.returnPath, to: item.address, bytes: item.bytes };
      this.#decided(line, held, await line.session.deliver(envelope, item.content));
    } catch (error) {
      this.#lost(line, held, error);
    }
    if (!line.session.isOver) this.#next(line);
  }

  #decided({ session, slot }: Line, held: Held, decision: Decision) {
    const { isSmartHost, random, slots } = this.#needs;
    const { stage, reply } = decision;
    const told = tellDecision(decision, session.whereabouts);
    // Before anything of the message was heard, 421 is about the session: it has had enough of it, or of us.
    if (reply.code === 421 && stage === 'mail') return this.#sessionRefused(session, held, told);
    const outcome = outcomeOf(held.item, decision, told, isSmartHost, random());
    if (outcome === 'misconfigured') {
      held.settle(this.#wait(restAfter(this.#failures + 1, random()), told));
      return this.#leaveAlone(told);
    }
    this.#failures = 0;
    this.#losses = 0;
    this.#isProven = true;
    slots.passTrial(slot);
    this.#notePace(decision);
    if (reply.code === 503) session.abandon('it lost count of our commands');
    held.settle(outcome);
  }

  #notePace({ stage, reply }: Decision) {
    const { limits, clock } = this.#needs;
    const isLater = reply.code >= 400 && reply.code < 500 && judgeReply({ ...reply, stage }).class !== 'Greylisted';
    const said = !isLater ? 'good' : asksForLess(reply.text, reply.enhanced) ? 'asksForLess' : 'later';
    this.#pace = notePace(this.#pace, limits.connections, clock.now(), said);
  }

  #sessionRefused(session: Session, held: Held, told: Told) {
    if (session.sent > 1 && !held.isRetried) return this.#again(held);
    held.settle(this.#wait(restAfter(this.#failures + 1, this.#needs.random()), told));
    this.#leaveAlone(told);
  }

  #again(held: Held) {
    if (this.#isStopped) return held.settle(this.#wait(0, stops, 'stop'));
    held.isRetried = true;
    this.#turns.pushFirst(held.item.org, held);
    this.serve();
  }

  /** The session ended without a word about the message. */
  #lost({ session }: Line, held: Held, error: unknown) {
    const { random, log, key, clock, limits } = this.#needs;
    const told = tellFailure(error, session.whereabouts);
    if (!(error instanceof SmtpFailure) || error.kind === 'content') {
      log.error(
        { err: error instanceof SmtpFailure ? (error.cause ?? error) : error, site: key, message: held.item.messageId },
        'a message could not be sent',
      );
      session.abandon('the message could not be read here');
      return held.settle({ kind: 'waits', afterSeconds: 60, told, because: 'ours' });
    }
    if (this.#isStopped) return held.settle({ kind: 'waits', afterSeconds: 0, told, because: 'stop' });
    const wasStale = session.sent > 1 && error.kind === 'closed' && (error.stage === 'mail' || error.stage === 'rset');
    if (wasStale && !held.isRetried) return this.#again(held);
    this.#pace = notePace(this.#pace, limits.connections, clock.now(), 'later');
    held.settle({ kind: 'deferred', afterSeconds: delayAfter(held.item.tries, random()), class: 'TransientFailure', told });
    this.#losses += 1;
    if (this.#losses >= lossesThatCount) this.#leaveAlone(told);
  }
}
