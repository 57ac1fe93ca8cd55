import type { Clock } from './clock.ts';

/** The right to one connection. */
export interface Slot {
  site: SlotHolder;
  /** The organization whose message it was opened for. */
  org: string;
  /** The site has not answered a message yet, or not since its last backoff. */
  isOnTrial: boolean;
  /** Monotonic milliseconds; 0 while idle. */
  busySince: number;
  isStalled: boolean;
}

export interface SlotHolder {
  /** A slot may be free now. */
  dispatch(): void;
  /** Closes an idle connection; its slot is released once it is closed. */
  closeIdle(slot: Slot): void;
  /** Connections that are not being closed. */
  readonly active: number;
}

interface OrgShare {
  /** Connections that are not idle. */
  busy: number;
  onTrial: number;
  waiting: Set<SlotHolder>;
  waitingForTrial: Set<SlotHolder>;
}

const stalledAfterMs = 10_000;
const sweepIntervalMs = 5_000;

/**
 * Connection slots, shared by all sites. Sites on trial get at most half, so proven sites always find a slot. A connection that has waited for
 * 10 s is stalled and counted apart, so silent sites take no slots from the others; in total there are at most twice `maxConnections`.
 * An organization gets half of the slots, and a quarter for sites on trial, its stalled ones included. So stalled servers delay only the
 * organizations that send to them.
 */
export class ConnectionSlots {
  readonly #maxConnections: number;
  readonly #clock: Clock;
  readonly #slots = new Set<Slot>();
  /** Idle the longest first. */
  readonly #idle = new Set<Slot>();
  /** Sites that found no slot, in order of request: proven ones, and those on trial. */
  readonly #waiting = new Set<SlotHolder>();
  readonly #waitingForTrial = new Set<SlotHolder>();
  /** Slots by organization, and the sites that wait for the organization to release one. */
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

  /** A slot; or undefined, and then `dispatch` of the site is called once one may be free. */
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

  /** Wakes sites that waited for this organization's share. A site that still finds no slot waits for its new reason. */
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

  /** Other sites wait, and this one has more than its share: it should close a connection. */
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

  /** Sites on trial get at most half. */
  get #hasTrialRoom(): boolean {
    return this.#onTrial < Math.max(1, this.#maxConnections / 2);
  }

  /** Alternates between proven sites and sites on trial. A site that no longer needs a slot passes it on. */
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
