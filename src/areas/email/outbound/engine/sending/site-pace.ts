import type { Decision } from '../../clients/smtp/session.ts';
import { asksForLess, classifyReply } from '../../rules/bounces/reply.ts';
import { adjustConcurrency, initialConcurrency, type SiteConcurrency } from '../../rules/site.ts';
import type { Clock } from './clock.ts';

/** The connection limit of one site, which follows its answers. */
export class SitePace {
  readonly #maxConnections: number;
  readonly #clock: Clock;
  #concurrency: SiteConcurrency;
  /** The site has answered a message since its last backoff. */
  #isProven = false;

  constructor(maxConnections: number, clock: Clock) {
    this.#maxConnections = maxConnections;
    this.#clock = clock;
    this.#concurrency = initialConcurrency(maxConnections, clock.now());
  }

  get isProven(): boolean {
    return this.#isProven;
  }

  /** One until the site has answered a message. */
  get maxConnections(): number {
    return this.#isProven ? this.#concurrency.connections : 1;
  }

  putOnTrial(): void {
    this.#isProven = false;
  }

  passTrial(): void {
    this.#isProven = true;
  }

  noteAnswer({ stage, reply }: Decision): void {
    const isLater = reply.code >= 400 && reply.code < 500 && classifyReply({ ...reply, stage }).class !== 'Greylisted';
    this.#adjust(!isLater ? 'good' : asksForLess(reply.text, reply.enhanced) ? 'asksForLess' : 'later');
  }

  /** The session ended without an answer. */
  noteLoss(): void {
    this.#adjust('later');
  }

  /** The site refuses a further connection but keeps the open ones: that is its connection limit, not a failure. */
  limitTo(connections: number): void {
    this.#concurrency = { ...this.#concurrency, connections, windowStartedAt: this.#clock.now(), accepted: 0, deferred: 0 };
  }

  #adjust(answer: 'good' | 'later' | 'asksForLess'): void {
    this.#concurrency = adjustConcurrency(this.#concurrency, this.#maxConnections, this.#clock.now(), answer);
  }
}
