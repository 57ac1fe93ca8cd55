import type { Clock } from './clock.ts';

/** The right to one connection. */
export interface Slot {
  site: SlotUser;
  /** No message has been answered at this site yet, or since it was last left alone. */
  isOnTrial: boolean;
  /** Since when it waits for the other side; 0 while it has nothing to do. */
  since: number;
  isStalled: boolean;
}

export interface SlotUser {
  /** There may be room for a connection now. */
  serve(): void;
  /** Closes a connection that has nothing to do; its slot comes back at once. */
  closeIdle(slot: Slot): void;
  readonly connections: number;
}

const stalledAfterMs = 10_000;
const sweepMs = 5_000;

/**
 * The connections of all sites together. Sites on trial share half of them, so that those which answer always find room; and a connection
 * that has waited long counts apart, so that sites which answer no more cost the others nothing. So there are at most twice `most`.
 */
export class Slots {
  readonly #most: number;
  readonly #clock: Clock;
  readonly #slots = new Set<Slot>();
  /** Without work, the one that has had none for longest first. */
  readonly #idle = new Set<Slot>();
  readonly #waiting = new Set<SlotUser>();
  #stalled = 0;
  #onTrial = 0;
  #cancelSweep: (() => void) | undefined;

  constructor(most: number, clock: Clock) {
    this.#most = most;
    this.#clock = clock;
  }

  get used(): number {
    return this.#slots.size - this.#stalled;
  }

  get stalled(): number {
    return this.#stalled;
  }

  /** A slot, or nothing now: then `serve` of the site is called once one is free. */
  take(site: SlotUser, isOnTrial: boolean): Slot | undefined {
    if (this.used >= this.#most) this.#freeIdle();
    const hasRoom = this.used < this.#most && (!isOnTrial || this.#onTrial < Math.max(1, this.#most / 2));
    if (!hasRoom) {
      this.#waiting.add(site);
      return undefined;
    }
    const slot: Slot = { site, isOnTrial, since: this.#clock.now(), isStalled: false };
    this.#slots.add(slot);
    if (isOnTrial) this.#onTrial += 1;
    this.#cancelSweep ??= this.#clock.after(sweepMs, () => this.#sweep());
    return slot;
  }

  give(slot: Slot) {
    if (!this.#slots.delete(slot)) return;
    this.#idle.delete(slot);
    this.#recover(slot);
    this.passTrial(slot);
    this.#callNext();
  }

  passTrial(slot: Slot) {
    if (!slot.isOnTrial) return;
    slot.isOnTrial = false;
    this.#onTrial -= slot.isStalled ? 0 : 1;
  }

  begin(slot: Slot) {
    this.#idle.delete(slot);
    slot.since = this.#clock.now();
  }

  rest(slot: Slot) {
    this.#recover(slot);
    slot.since = 0;
    this.#idle.add(slot);
  }

  /** Others wait, and this site has more than its part: it gives one up. */
  wantsBack(site: SlotUser): boolean {
    if (this.#waiting.size === 0) return false;
    const sites = new Set(Array.from(this.#slots, (slot) => slot.site)).size + this.#waiting.size;
    return site.connections > Math.max(1, Math.floor(this.#most / sites));
  }

  #freeIdle() {
    for (const slot of this.#idle) return slot.site.closeIdle(slot);
  }

  #recover(slot: Slot) {
    if (!slot.isStalled) return;
    slot.isStalled = false;
    this.#stalled -= 1;
    if (slot.isOnTrial) this.#onTrial += 1;
  }

  #callNext() {
    const [site] = this.#waiting;
    if (site === undefined) return;
    this.#waiting.delete(site);
    site.serve();
  }

  #sweep() {
    const before = this.#clock.now() - stalledAfterMs;
    this.#cancelSweep = undefined;
    for (const slot of this.#slots) {
      if (slot.since === 0 || slot.since > before || slot.isStalled || this.#stalled >= this.#most) continue;
      slot.isStalled = true;
      this.#stalled += 1;
      if (slot.isOnTrial) this.#onTrial -= 1;
      this.#callNext();
    }
    if (this.#slots.size > 0) this.#cancelSweep ??= this.#clock.after(sweepMs, () => this.#sweep());
  }
}
