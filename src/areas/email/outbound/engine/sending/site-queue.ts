import { RoundRobinQueue } from '../../../../../kernel/fairness/index.ts';
import type { Outcome, Outgoing } from '../outgoing.ts';
import type { Clock } from './clock.ts';

export interface WaitingMessage {
  item: Outgoing;
  /** Monotonic milliseconds. */
  queuedAt: number;
  settle: (outcome: Outcome) => void;
  /** It met a session that the remote server had closed already. It is retried at once only the first time. */
  isRetried: boolean;
}

/** Longest wait for a connection. Then the message goes back to its row, where users see the reason. */
export const maxQueueMs = 600_000;

/** Messages that wait for a connection to one site, organizations in turn. */
export class SiteQueue {
  readonly #clock: Clock;
  readonly #onOverdue: (overdue: WaitingMessage[], waitingBefore: number) => void;
  readonly #messages = new RoundRobinQueue<WaitingMessage>();
  #cancelTimer: (() => void) | undefined;
  #isStopped = false;

  constructor(clock: Clock, onOverdue: (overdue: WaitingMessage[], waitingBefore: number) => void) {
    this.#clock = clock;
    this.#onOverdue = onOverdue;
  }

  get size(): number {
    return this.#messages.size;
  }

  /** Organizations with messages, in order of turns. */
  get orgs(): string[] {
    return this.#messages.keys;
  }

  sizeOf(org: string): number {
    return this.#messages.sizeOf(org);
  }

  add(item: Outgoing, settle: (outcome: Outcome) => void): void {
    this.#messages.push(item.org, { item, settle, isRetried: false, queuedAt: this.#clock.now() });
    this.#watchOverdue();
  }

  addFirst(message: WaitingMessage): void {
    this.#messages.pushFirst(message.item.org, message);
  }

  next(): WaitingMessage | undefined {
    return this.#messages.next();
  }

  drain(): WaitingMessage[] {
    return this.#messages.drain();
  }

  drainOf(org: string): WaitingMessage[] {
    return this.#messages.drainOf(org);
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancelTimer?.();
  }

  /** One timer for all waiting messages. */
  #watchOverdue(): void {
    const clock = this.#clock;
    this.#cancelTimer ??= clock.after(maxQueueMs / 2, () => {
      this.#cancelTimer = undefined;
      const waitingBefore = this.size;
      this.#onOverdue(
        this.#messages.removeWhile(({ queuedAt }) => clock.now() - queuedAt >= maxQueueMs),
        waitingBefore,
      );
      if (this.size > 0 && !this.#isStopped) this.#watchOverdue();
    });
  }
}
