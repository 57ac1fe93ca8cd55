import { siteBackoffSeconds } from '../../rules/retry.ts';
import type { ServerReply } from '../outgoing.ts';
import type { Clock } from './clock.ts';

/** One session lost in the middle of a message defers that message; this many in a row put the site in backoff. */
const maxLossesInARow = 3;

/** The backoff of one site: longer after each failure in a row, until the site answers a message. */
export class SiteBackoff {
  readonly #clock: Clock;
  readonly #random: () => number;
  #failuresInARow = 0;
  #lossesInARow = 0;
  /** Monotonic milliseconds. */
  #until = 0;
  #lastFailure: ServerReply | undefined;

  constructor(clock: Clock, random: () => number) {
    this.#clock = clock;
    this.#random = random;
  }

  /** Remaining seconds. */
  get seconds(): number {
    return Math.max(0, Math.ceil((this.#until - this.#clock.now()) / 1000));
  }

  /** The failure that started the last backoff. */
  get lastFailure(): ServerReply | undefined {
    return this.#lastFailure;
  }

  /** The length of a backoff that would start now. */
  nextSeconds(): number {
    return siteBackoffSeconds(this.#failuresInARow + 1, this.#random());
  }

  /** Returns its seconds. Undefined: connections that fail at the same time count as one failure, so the current backoff continues. */
  start(failure: ServerReply): number | undefined {
    this.#lossesInARow = 0;
    if (this.seconds > 0) return undefined;
    this.#failuresInARow += 1;
    const seconds = siteBackoffSeconds(this.#failuresInARow, this.#random());
    this.#until = this.#clock.now() + 1000 * seconds;
    this.#lastFailure = failure;
    return seconds;
  }

  /** Counts a session that was lost in the middle of a message. True: the site must back off. */
  countLoss(): boolean {
    this.#lossesInARow += 1;
    return this.#lossesInARow >= maxLossesInARow;
  }

  /** A session is open: the backoff ends. */
  end(): void {
    this.#until = 0;
  }

  /** The site answered a message: the next backoff is short again. */
  forgetFailures(): void {
    this.#failuresInARow = 0;
    this.#lossesInARow = 0;
  }
}
