import type { Clock } from './clock.ts';

/** A token bucket: new connections of one site per minute. */
export class OpenRate {
  readonly #perMinute: number;
  readonly #clock: Clock;
  readonly #onRefill: () => void;
  #tokens: number;
  #refilledAt: number;
  #cancelRefill: (() => void) | undefined;

  constructor(perMinute: number, clock: Clock, onRefill: () => void) {
    this.#perMinute = perMinute;
    this.#clock = clock;
    this.#onRefill = onRefill;
    this.#tokens = perMinute;
    this.#refilledAt = clock.now();
  }

  /** False: `onRefill` is called once there is a token. */
  hasToken(): boolean {
    const now = this.#clock.now();
    const perMs = this.#perMinute / 60_000;
    this.#tokens = Math.min(this.#perMinute, this.#tokens + (now - this.#refilledAt) * perMs);
    this.#refilledAt = now;
    if (this.#tokens >= 1) return true;
    this.#cancelRefill ??= this.#clock.after(Math.ceil(1 / perMs), () => {
      this.#cancelRefill = undefined;
      this.#onRefill();
    });
    return false;
  }

  take(): void {
    this.#tokens -= 1;
  }

  /** Nothing was connected after all. */
  giveBack(): void {
    this.#tokens += 1;
  }

  stop(): void {
    this.#cancelRefill?.();
  }
}
