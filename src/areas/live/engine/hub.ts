import { randomInt } from 'node:crypto';
import { live } from '../../../../contract/live.ts';
import type { Principal } from '../../../identity/principal.ts';
import type { App } from '../../../kernel/app.ts';
import { Refusal } from '../../../kernel/errors.ts';
import { runFor } from '../../../kernel/fairness/index.ts';
import type { EventSink } from '../../../kernel/http/endless.ts';
import { bye, hello, refused } from '../rules/events.ts';
import { comeBackMs, spreadMs } from '../rules/spread.ts';
import { Audience, type Told } from './audience.ts';
import { allKinds } from './kinds.ts';
import { type EndReason, Stream } from './stream.ts';

export interface Limits {
  /** Open streams of one person in one organization, of one organization, and of this process. */
  perPerson: number;
  perOrg: number;
  inAll: number;
  /** A stream is told of a kind once in this time at most. */
  hintMs: number;
  beatMs: number;
  /** A stream whose output waits so long is ended. */
  unreadMs: number;
  /** So long rights may be in doubt before hints count as missing. */
  doubtMs: number;
}

export const defaultLimits: Limits = {
  perPerson: 20,
  perOrg: 500,
  inAll: 2_000,
  hintMs: 250,
  beatMs: 15_000,
  unreadMs: 30_000,
  doubtMs: 3_000,
};

/** What happened, for the metrics. */
export interface HubEvents {
  told(streams: number): void;
  ended(reason: EndReason): void;
}

/** Lookups at once: a change of an organization’s rights reaches all of its streams in one moment. */
const lookupsAtOnce = 4;
const tickMs = 1_000;
const retrySeconds = 30;

/** The open streams of this process. */
export class Hub {
  readonly #app: App;
  readonly #limits: Limits;
  readonly #events: HubEvents;
  /** By credential and organization. */
  readonly #audiences = new Map<string, Audience>();
  readonly #rooms = new Map<string, Room>();
  readonly #ofPerson = new Map<string, number>();
  #count = 0;
  #isDeaf: boolean;
  #isStopping = false;
  readonly #lanes: Promise<unknown>[] = Array.from({ length: lookupsAtOnce }, () => Promise.resolve());
  #nextLane = 0;
  readonly #ticker: NodeJS.Timeout;
  readonly #unsubscribe: () => void;

  constructor(app: App, events: HubEvents, limits: Limits) {
    this.#app = app;
    this.#events = events;
    this.#limits = limits;
    this.#isDeaf = !app.listener.hearing;
    this.#unsubscribe = app.waker.onNews((org, kinds) => this.#hear(org, kinds));
    app.listener.onChange((isHearing) => this.#hearingChanged(isHearing));
    this.#ticker = setInterval(() => this.#tick(performance.now()), tickMs).unref();
  }

  get count(): number {
    return this.#count;
  }

  /** Refuses a caller who has as many streams as there can be. */
  requireRoom(principal: Principal): void {
    const lack = this.#lackOfRoom(principal);
    if (lack) throw lack;
  }

  #lackOfRoom({ org, user }: Principal): Refusal | undefined {
    const { perPerson, perOrg, inAll } = this.#limits;
    if (this.#isStopping) return unavailable('this server is stopping; come back in a moment', 1);
    if ((this.#ofPerson.get(personKey(org.id, user?.id)) ?? 0) >= perPerson)
      return tooMany(`you have ${perPerson} open event streams at this server, which is the most; close one`);
    if ((this.#rooms.get(org.id)?.count ?? 0) >= perOrg)
      return tooMany(`your organization has ${perOrg} open event streams at this server, which is the most; ask now and then instead`);
    if (this.#count >= inAll)
      return unavailable(`this server has ${inAll} open event streams, which is the most; ask now and then instead`, retrySeconds);
    return undefined;
  }

  open(principal: Principal, sink: EventSink): void {
    if (sink.isClosed) return;
    const retryAfterMs = comeBackMs(this.#count, randomShare());
    if (this.#isStopping) {
      sink.end(bye(retryAfterMs));
      return;
    }
    // Requests that came in one moment were all let in before the first of them was counted.
    const lack = this.#lackOfRoom(principal);
    if (lack) {
      sink.end(refused(lack.status, lack.code, lack.message));
      return;
    }
    const audience = this.#audienceOf(principal);
    const stream = new Stream(sink);
    audience.streams.add(stream);
    const person = personKey(principal.org.id, principal.user?.id);
    this.#ofPerson.set(person, (this.#ofPerson.get(person) ?? 0) + 1);
    const room = this.#roomOf(principal.org.id);
    room.count++;
    this.#count++;
    stream.onClose(() => this.#forget(audience, stream, room, person));
    const { version } = this.#app;
    void audience.renew();
    stream.send(hello({ version, organization: principal.org.slug, kinds: audience.kinds, retryAfterMs }) + audience.opening);
  }

  /** The server stops: every client is told when to come back, each at another moment. */
  stop(): void {
    if (this.#isStopping) return;
    this.#isStopping = true;
    const clients = this.#count;
    for (const { streams } of [...this.#audiences.values()]) {
      for (const stream of [...streams]) stream.end('stopped', bye(comeBackMs(clients, randomShare())), this.#limits.unreadMs);
    }
  }

  close(): void {
    this.stop();
    clearInterval(this.#ticker);
    this.#unsubscribe();
    for (const room of this.#rooms.values()) room.close();
  }

  #audienceOf(principal: Principal): Audience {
    const known = this.#audiences.get(keyOf(principal));
    if (known) {
      known.adopt(principal);
      return known;
    }
    const { org } = principal;
    const made = new Audience(principal, {
      unknown: live.streamEvents,
      isDeaf: () => this.#isDeaf,
      lookAgain: (current) =>
        this.#inTurn(() => runFor({ org: org.id, operation: live.streamEvents.id }, () => current.lookAgain(), this.#app.watch)),
      end: (audience, text) => this.#endAll(audience, text),
    });
    this.#audiences.set(keyOf(principal), made);
    this.#roomOf(org.id).audiences.add(made);
    return made;
  }

  #roomOf(org: string): Room {
    const known = this.#rooms.get(org);
    if (known) return known;
    const made = new Room(this.#limits.hintMs, this.#events);
    this.#rooms.set(org, made);
    return made;
  }

  #forget(audience: Audience, stream: Stream, room: Room, person: string): void {
    if (!audience.streams.delete(stream)) return;
    this.#events.ended(stream.reason);
    this.#count--;
    const left = this.#ofPerson.get(person)! - 1;
    if (left) this.#ofPerson.set(person, left);
    else this.#ofPerson.delete(person);
    room.count--;
    if (audience.streams.size) return;
    this.#dismiss(audience);
    if (room.count) return;
    room.close();
    this.#rooms.delete(audience.principal.org.id);
  }

  #endAll(audience: Audience, text: string): void {
    this.#dismiss(audience);
    for (const stream of [...audience.streams]) stream.end('refused', text, this.#limits.unreadMs);
  }

  #dismiss(audience: Audience): void {
    const { principal } = audience;
    this.#rooms.get(principal.org.id)?.audiences.delete(audience);
    if (this.#audiences.get(keyOf(principal)) === audience) this.#audiences.delete(keyOf(principal));
  }

  #hear(org: string | undefined, kinds: readonly string[]): void {
    if (org === undefined) this.#hearOfLoss();
    else this.#rooms.get(org)?.add(kinds);
  }

  /** Another process could not send its hints. */
  #hearOfLoss(): void {
    const spread = spreadMs(this.#count);
    for (const room of this.#rooms.values()) setTimeout(() => room.add(allKinds), randomShare() * spread).unref();
  }

  /** Deaf, a stream says so. Hearing again, each looks its rights up and is told to ask for everything, at another moment each. */
  #hearingChanged(isHearing: boolean): void {
    this.#isDeaf = !isHearing;
    const spread = spreadMs(this.#count);
    for (const audience of this.#audiences.values())
      if (isHearing) setTimeout(() => void audience.renew(), randomShare() * spread).unref();
      else audience.becomeDeaf();
  }

  #tick(now: number): void {
    for (const audience of this.#audiences.values()) {
      audience.check(now, this.#limits.doubtMs);
      for (const stream of audience.streams) if (!stream.keep(now, this.#limits)) stream.cut('unread');
    }
  }

  #inTurn<T>(look: () => Promise<T>): Promise<T> {
    const lane = this.#nextLane++ % lookupsAtOnce;
    const looked = this.#lanes[lane]!.then(look);
    this.#lanes[lane] = looked.catch(() => {});
    return looked;
  }
}

/** One organization’s streams. */
class Room {
  readonly audiences = new Set<Audience>();
  count = 0;
  readonly #hintMs: number;
  readonly #events: HubEvents;
  #pending = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #notBefore = 0;

  constructor(hintMs: number, events: HubEvents) {
    this.#hintMs = hintMs;
    this.#events = events;
  }

  /** The hints of one transaction leave at once, together; those that follow shortly leave together later. */
  add(kinds: readonly string[]): void {
    for (const kind of kinds) if (isKnown.has(kind)) this.#pending.add(kind);
    if (this.#pending.size) this.#timer ??= setTimeout(() => this.#flush(), Math.max(0, this.#notBefore - performance.now())).unref();
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  #flush(): void {
    this.#timer = undefined;
    this.#notBefore = performance.now() + this.#hintMs;
    const kinds = this.#pending;
    this.#pending = new Set();
    const texts = new Map<readonly string[], Told>();
    for (const audience of this.audiences) audience.tell(kinds, texts);
    this.#events.told(this.count);
  }
}

/** A newer release may hint at what this one does not know. */
const isKnown: ReadonlySet<string> = new Set(allKinds);

/** From 0 up to 1. */
const randomShare = () => randomInt(2 ** 32) / 2 ** 32;

const keyOf = ({ kind, actsAs }: Principal) => `${kind} ${actsAs}`;
const personKey = (org: string, user = '') => `${org} ${user}`;

const tooMany = (sentence: string) => new Refusal(429, 'rate_limited', sentence, { headers: { 'retry-after': String(retrySeconds) } });
const unavailable = (sentence: string, seconds: number) =>
  new Refusal(503, 'unavailable', sentence, { headers: { 'retry-after': String(seconds) }, isTold: true });
