import type { Clock } from './clock.ts';

/** The right to one connection. */
export interface Slot {
  site: SlotHolder;
  /** For whose message it was opened. */
  org: string;
  /** No message has been answered at this site yet, or since it was last left alone. */
  isOnTrial: boolean;
  /** Since when it waits for the other side; 0 while it has nothing to do. */
  busySince: number;
  isStalled: boolean;
}

export interface SlotHolder {
  /** There may be room for a connection now. */
  dispatch(): void;
  /** Closes a connection that has nothing to do; its slot comes back once it is closed. */
  closeIdle(slot: Slot): void;
  /** Its connections that are not about to be closed. */
  readonly active: number;
}

interface OrgShare {
  /** Those that have something to do. */
  busy: number;
  onTrial: number;
  waiting: Set<SlotHolder>;
  waitingForTrial: Set<SlotHolder>;
}

const stalledAfterMs = 10_000;
const sweepIntervalMs = 5_000;

/**
 * The connections of all sites together. Sites on trial share half of them, so that those which answer always find room; and a connection
 * that has waited long counts apart, so that sites which answer no more cost the others nothing. So there are at most twice `most`. Of `most`
 * an organization has half, and a quarter on trial, those that wait long included: whoever writes to servers that stall waits for them alone.
 */
export class ConnectionSlots {
  readonly #maxConnections: number;
  readonly #clock: Clock;
  readonly #slots = new Set<Slot>();
  /** Without work, the one that has had none for longest first. */
  readonly #idle = new Set<Slot>();
  /** Who found no room, in the order in which they asked: those that answer, and those on trial. */
  readonly #waiting = new Set<SlotHolder>();
  readonly #waitingForTrial = new Set<SlotHolder>();
  /** What each organization has, and who waits until it has less. */
  readonly #shares = new Map<string, OrgShare>();
  #isTrialNext = false;
  #stalled = 0;
  #onTrial = 0;
  #cancelSweep: (() => void) | undefined;

  constructor(maxConnections: number, clock: Clock) {
    this.#maxConnections = maxConnections;
    this.#clock = clock;
  }

  get used(): number {
    return this.#slots.size - this.#stalled;
  }

  /** A slot, or nothing now: then `serve` of the site is called once one is free. */
  acquire(site: SlotHolder, isOnTrial: boolean, orgs: readonly string[]): Slot | undefined {
    const org = orgs.find((each) => this.#hasRoom(each, isOnTrial));
    if (org === undefined) {
      for (const each of orgs) this.#shareOf(each)[isOnTrial ? 'waitingForTrial' : 'waiting'].add(site);
      return undefined;
    }
    if (this.used >= this.#maxConnections) this.#closeOldestIdle();
    if (this.used >= this.#maxConnections || (isOnTrial && !this.#hasTrialRoom)) {
      (isOnTrial ? this.#waitingForTrial : this.#waiting).add(site);
      return undefined;
    }
    const share = this.#shareOf(org);
    share.busy += 1;
    if (isOnTrial) share.onTrial += 1;
    const slot: Slot = { site, org, isOnTrial, busySince: this.#clock.now(), isStalled: false };
    this.#slots.add(slot);
    if (isOnTrial) this.#onTrial += 1;
    this.#cancelSweep ??= this.#clock.after(sweepIntervalMs, () => this.#sweep());
    return slot;
  }

  release(slot: Slot) {
    if (!this.#slots.delete(slot)) return;
    this.#idle.delete(slot);
    this.#recover(slot);
    this.#endTrial(slot);
    if (slot.busySince !== 0) this.#shareOf(slot.org).busy -= 1;
    this.#wakeNext();
    this.#wakeWaitersOf(slot.org);
  }

  passTrial(slot: Slot) {
    if (this.#endTrial(slot)) this.#wakeWaitersOf(slot.org);
  }

  #endTrial(slot: Slot): boolean {
    if (!slot.isOnTrial) return false;
    slot.isOnTrial = false;
    this.#onTrial -= slot.isStalled ? 0 : 1;
    this.#shareOf(slot.org).onTrial -= 1;
    return true;
  }

  #shareOf(org: string): OrgShare {
    const share = this.#shares.get(org) ?? { busy: 0, onTrial: 0, waiting: new Set(), waitingForTrial: new Set() };
    this.#shares.set(org, share);
    return share;
  }

  #hasRoom(org: string, isOnTrial: boolean): boolean {
    const { busy = 0, onTrial = 0 } = this.#shares.get(org) ?? {};
    return busy < Math.max(1, this.#maxConnections / 2) && (!isOnTrial || onTrial < Math.max(1, this.#maxConnections / 4));
  }

  /** Those that waited for this organization to have less. Who finds no room for another reason waits for that. */
  #wakeWaitersOf(org: string) {
    const share = this.#shareOf(org);
    for (const isOnTrial of [false, true]) {
      const waiting = isOnTrial ? share.waitingForTrial : share.waiting;
      for (const site of waiting) {
        if (!this.#hasRoom(org, isOnTrial)) break;
        waiting.delete(site);
        site.dispatch();
      }
    }
    if (share.busy + share.onTrial + share.waiting.size + share.waitingForTrial.size === 0) this.#shares.delete(org);
  }

  markBusy(slot: Slot) {
    this.#idle.delete(slot);
    if (slot.busySince === 0) this.#shareOf(slot.org).busy += 1;
    slot.busySince = this.#clock.now();
  }

  markIdle(slot: Slot) {
    this.#recover(slot);
    slot.busySince = 0;
    this.#idle.add(slot);
    this.#shareOf(slot.org).busy -= 1;
    this.#wakeWaitersOf(slot.org);
  }

  /** Others wait, and this site has more than its part: it gives one up. */
  shouldYield(site: SlotHolder): boolean {
    const waiting = this.#waiting.size + (this.#hasTrialRoom ? this.#waitingForTrial.size : 0);
    if (waiting === 0) return false;
    const sites = new Set(Array.from(this.#slots, (slot) => slot.site)).size + waiting;
    return site.active > Math.max(1, Math.floor(this.#maxConnections / sites));
  }

  #closeOldestIdle() {
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
  get #hasTrialRoom(): boolean {
    return this.#onTrial < Math.max(1, this.#maxConnections / 2);
  }

  /** In turns between those that answer and those on trial. Who needs it no longer lets it pass. */
  #wakeNext() {
    while (this.used < this.#maxConnections) {
      const before = this.used;
      const [trial] = this.#hasTrialRoom ? this.#waitingForTrial : [];
      const [proven] = this.#waiting;
      const site = this.#isTrialNext ? (trial ?? proven) : (proven ?? trial);
      if (site === undefined) return;
      this.#isTrialNext = site !== trial;
      this.#waiting.delete(site);
      this.#waitingForTrial.delete(site);
      site.dispatch();
      if (this.used > before) return;
    }
  }

  #sweep() {
    const before = this.#clock.now() - stalledAfterMs;
    this.#cancelSweep = undefined;
    for (const slot of this.#slots) {
      if (slot.busySince === 0 || slot.busySince > before || slot.isStalled || this.#stalled >= this.#maxConnections) continue;
      slot.isStalled = true;
      this.#stalled += 1;
      if (slot.isOnTrial) this.#onTrial -= 1;
      this.#wakeNext();
    }
    if (this.#slots.size > 0) this.#cancelSweep ??= this.#clock.after(sweepIntervalMs, () => this.#sweep());
  }
}
