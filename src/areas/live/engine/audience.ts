import { setTimeout as sleep } from 'node:timers/promises';
import { unknownToken } from '../../../identity/context.ts';
import type { Principal } from '../../../identity/principal.ts';
import { Refusal } from '../../../kernel/errors.ts';
import { changed, deaf, refused, rights } from '../rules/events.ts';
import { isSameRights } from '../rules/same-rights.ts';
import { kindsHeardBy } from './kinds.ts';
import type { Stream } from './stream.ts';

/** After so long a principal that could not be cached is aborted by itself. */
const uncachedMs = 1_000;
/** Rights are looked up again after this time even if nothing says that they changed; sooner while nothing could. */
const recheckMs = 5 * 60_000;
const deafRecheckMs = 15_000;

export interface AudienceOptions {
  /** Looks the principal up again, when it is its turn. */
  lookAgain(principal: Principal): Promise<Principal | undefined>;
  /** Whether this process hears nothing of the others now. */
  isDeaf(): boolean;
  /** Ends the streams with this event. */
  end(audience: Audience, text: string): void;
  /** The refusal of a credential that is gone. */
  unknown: Parameters<typeof unknownToken>[0];
}

/**
 * All streams of one credential in one organization: they have the same rights. Its principal is aborted when these may have changed. From
 * then on hints wait until it has been looked up again, so that none is told by rights that are gone.
 */
export class Audience {
  readonly streams = new Set<Stream>();
  /** Refused: its streams end. */
  isOver = false;
  #principal: Principal;
  #kinds: readonly string[];
  readonly #options: AudienceOptions;
  /** Kinds that changed while the rights were in doubt. */
  readonly #missed = new Set<string>();
  #isLooking = false;
  /** The principal was found in the cache. */
  #isConfirmed = false;
  #doubtedSince: number | undefined;
  #lookAt = 0;
  /** Its streams know that hints may be missing. */
  #isDeaf: boolean;

  constructor(principal: Principal, options: AudienceOptions) {
    this.#principal = principal;
    this.#kinds = kindsHeardBy(principal);
    this.#options = options;
    this.#isDeaf = options.isDeaf();
    this.#follow(principal);
  }

  get principal(): Principal {
    return this.#principal;
  }

  get kinds(): readonly string[] {
    return this.#kinds;
  }

  /** What a stream is told when it joins, besides `hello`. */
  get opening(): string {
    return this.#isDeaf ? deaf : '';
  }

  /** Tells its streams of those kinds that it may read. `texts` has the event for each list of kinds, so that it is written once. */
  tell(kinds: ReadonlySet<string>, texts: Map<readonly string[], Told>): void {
    if (!this.#isCertain || this.#isDeaf) {
      for (const kind of kinds) this.#missed.add(kind);
      return;
    }
    let told = texts.get(this.#kinds);
    if (!told) {
      const heard = this.#kinds.filter((kind) => kinds.has(kind));
      told = { kinds: heard, text: changed(heard) };
      texts.set(this.#kinds, told);
    }
    if (told.kinds.length) for (const stream of this.streams) stream.sendChanged(told.kinds, told.text);
  }

  /** A request of the same credential was just judged by this principal. */
  adopt(found: Principal): void {
    const before = this.#principal;
    if (found === before) return;
    this.#principal = found;
    this.#isConfirmed = false;
    this.#follow(found);
    if (isSameRights(before, found)) return;
    this.#kinds = kindsHeardBy(found);
    const text = rights(this.#kinds);
    for (const stream of this.streams) stream.sendRights(text);
  }

  /** Its principal is the cached one, and no change of its rights is known: the next one will abort it. */
  get #isCertain(): boolean {
    return this.#isConfirmed && !this.#principal.signal.aborted;
  }

  get #recheckMs(): number {
    return this.#isDeaf ? deafRecheckMs : recheckMs;
  }

  /** Hints may be missing. */
  becomeDeaf(): void {
    if (this.#isDeaf) return;
    this.#isDeaf = true;
    this.#lookAt = Math.min(this.#lookAt, performance.now() + deafRecheckMs);
    for (const stream of this.streams) stream.sendDeaf();
  }

  /**
   * Looks the principal up. One that is still cached costs nothing. One that was read while rights changed somewhere is not cached, and no
   * change of its own would abort it: it is looked up again until it is the cached one.
   */
  async renew(): Promise<void> {
    if (this.#isLooking || this.isOver || !this.streams.size) return;
    this.#isLooking = true;
    try {
      for (let pauseMs = 20; pauseMs < uncachedMs; pauseMs *= 2) {
        const before = this.#principal;
        const found = await this.#options.lookAgain(before);
        if (!found) throw unknownToken(this.#options.unknown);
        this.adopt(found);
        this.#isConfirmed = found === before;
        if (this.#options.isDeaf()) break;
        if (this.#isCertain) {
          this.#catchUp();
          break;
        }
        await sleep(pauseMs, undefined, { ref: false });
      }
    } catch (error) {
      // Anything else is trouble of the database: the rights stay in doubt, and `check` asks again.
      if (error instanceof Refusal && error.status < 500) {
        this.isOver = true;
        this.#options.end(this, refused(error.status, error.code, error.message));
      }
    } finally {
      this.#isLooking = false;
    }
  }

  /** Called every second: a credential also ends by the clock, and rights that stay in doubt are hints that are missing. */
  check(now: number, doubtMs: number): void {
    if (now >= this.#lookAt) {
      this.#lookAt = now + this.#recheckMs;
      void this.renew();
    }
    if (this.#isCertain) this.#doubtedSince = undefined;
    else this.#doubtedSince ??= now;
    if (this.#doubtedSince === undefined || this.#options.isDeaf()) return;
    if (now - this.#doubtedSince >= doubtMs) this.becomeDeaf();
    void this.renew();
  }

  /** The rights are certain again. */
  #catchUp(): void {
    if (this.#isDeaf) {
      this.#isDeaf = false;
      this.#missed.clear();
      this.tell(new Set(this.#kinds), new Map());
    } else if (this.#missed.size) {
      const missed = new Set(this.#missed);
      this.#missed.clear();
      this.tell(missed, new Map());
    }
  }

  #follow(principal: Principal): void {
    const { signal, goodUntil } = principal;
    this.#lookAt = Math.min(goodUntil, performance.now() + this.#recheckMs);
    const look = () => {
      if (this.#principal === principal && !this.#options.isDeaf()) void this.renew();
    };
    if (signal.aborted) queueMicrotask(look);
    else signal.addEventListener('abort', () => queueMicrotask(look), { once: true });
  }
}

/** The kinds that an audience is told of, and the event that names them. */
export interface Told {
  kinds: readonly string[];
  text: string;
}
