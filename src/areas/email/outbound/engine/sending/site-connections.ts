import type { Session } from '../../clients/smtp/session.ts';
import type { Clock } from './clock.ts';
import type { Slot } from './slots.ts';

export interface SiteConnection {
  session: Session;
  slot: Slot;
  cancelIdle: (() => void) | undefined;
  isRetiring: boolean;
}

/** The connections of one site: opening → busy ⇄ idle → retiring (after QUIT) → gone. */
export class SiteConnections {
  readonly #clock: Clock;
  /** An idle session is closed after this long. */
  readonly #idleMs: number;
  readonly #open = new Set<SiteConnection>();
  readonly #idle: SiteConnection[] = [];
  #opening = 0;
  #retiring = 0;

  constructor(clock: Clock, idleMs: number) {
    this.#clock = clock;
    this.#idleMs = idleMs;
  }

  /** Open ones, and those being opened. */
  get count(): number {
    return this.#open.size + this.#opening;
  }

  /** Connections that are not being closed. */
  get active(): number {
    return this.count - this.#retiring;
  }

  get open(): number {
    return this.#open.size;
  }

  get opening(): number {
    return this.#opening;
  }

  get hasIdle(): boolean {
    return this.#idle.length > 0;
  }

  beginOpening(): void {
    this.#opening += 1;
  }

  endOpening(): void {
    this.#opening -= 1;
  }

  add(session: Session, slot: Slot): SiteConnection {
    const connection: SiteConnection = { session, slot, cancelIdle: undefined, isRetiring: false };
    this.#open.add(connection);
    return connection;
  }

  /** False: it was removed before. */
  remove(connection: SiteConnection): boolean {
    if (!this.#open.delete(connection)) return false;
    this.#removeFromIdle(connection);
    if (connection.isRetiring) this.#retiring -= 1;
    return true;
  }

  makeIdle(connection: SiteConnection): void {
    this.#idle.push(connection);
    connection.cancelIdle = this.#clock.after(this.#idleMs, () => this.retire(connection));
  }

  /** The connection that became idle last. */
  takeIdle(): SiteConnection {
    return this.#idle.pop()!;
  }

  makeBusy(connection: SiteConnection): void {
    connection.cancelIdle?.();
    connection.cancelIdle = undefined;
  }

  /** The session gets no more messages, and is gone once the remote server has closed it too. */
  retire(connection: SiteConnection): void {
    this.#removeFromIdle(connection);
    if (!connection.isRetiring) this.#retiring += 1;
    connection.isRetiring = true;
    connection.session.quit();
  }

  retireIdleOf(slot: Slot): void {
    const connection = this.#idle.find((idle) => idle.slot === slot);
    if (connection !== undefined) this.retire(connection);
  }

  retireAllIdle(): void {
    for (const connection of [...this.#idle]) this.retire(connection);
  }

  /** Ends every session at once. */
  abandonAll(why: string): void {
    for (const { session } of [...this.#open]) session.abandon(why);
  }

  #removeFromIdle(connection: SiteConnection): void {
    const at = this.#idle.indexOf(connection);
    if (at >= 0) this.#idle.splice(at, 1);
    connection.cancelIdle?.();
  }
}
