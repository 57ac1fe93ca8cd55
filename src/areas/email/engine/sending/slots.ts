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
  /** Closes a connection that has nothing to do; its slot comes back once it is closed. */
  closeIdle(slot: Slot): void;
  /** Its connections that are not about to be closed. */
  readonly active: number;
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
  /** Who found no room, in the order in which they asked: those that answer, and those on trial. */
  readonly #waiting = new Set<SlotUser>();
  readonly #waitingForTrial = new Set<SlotUser>();
  #isTrialNext = false;
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

  /** A slot, or nothing now: then `serve` of the site is called once one is free. */
  take(site: SlotUser, isOnTrial: boolean): Slot | undefined {
    if (this.used >= this.#most) this.#freeIdle();
    if (this.used >= this.#most || (isOnTrial && !this.#mayTry)) {
      (isOnTrial ? this.#waitingForTrial : this.#waiting).add(site);
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
    const waiting = this.#waiting.size + (this.#mayTry ? this.#waitingForTrial.size : 0);
    if (waiting === 0) return false;
    const sites = new Set(Array.from(this.#slots, (slot) => slot.site)).size + waiting;
    return site.active > Math.max(1, Math.floor(this.#most / sites));
  }

  #freeIdle() {
    for (const slot of this.#idle) {
      this.#idle.delete(slot);
      return slot.site.closeIdle(slot);
    }
  }

  #recover(slot: Slot) {
    if (!slot.isStalled) return;
    slot.isStalled = false;
    this.#stalled -= 1;
    if (slot.isOnTrial) this.#onTrial += 1;
  }

  /** Sites on trial have no more than half. */
  get #mayTry(): boolean {
    return this.#onTrial < Math.max(1, this.#most / 2);
  }

  /** In turns between those that answer and those on trial. Who needs it no longer lets it pass. */
  #callNext() {
    while (this.used < this.#most) {
      const before = this.used;
      const [trial] = this.#mayTry ? this.#waitingForTrial : [];
      const [proven] = this.#waiting;
      const site = this.#isTrialNext ? (trial ?? proven) : (proven ?? trial);
      if (site === undefined) return;
      this.#isTrialNext = site !== trial;
      this.#waiting.delete(site);
      this.#waitingForTrial.delete(site);
      site.serve();
      if (this.used > before) return;
    }
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
