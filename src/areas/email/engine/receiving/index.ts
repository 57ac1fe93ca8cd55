import { randomUUID } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import type { App } from '../../../../kernel/app.ts';
import { isUnavailable } from '../../../../kernel/db/index.ts';
import { makeFairSemaphore, runFor, TenantThrottled } from '../../../../kernel/fairness/index.ts';
import { clockMoved, mostOrgs } from '../../../../kernel/jobs/index.ts';
import type { Spool } from '../../../../kernel/spool/index.ts';
import { makeReader, type Reader, type ReaderOptions, type Reading, type ReadResult, unreadMail } from '../../clients/reader/index.ts';
import * as store from '../../store/receiving/arrivals.ts';
import type { Following } from '../feedback/index.ts';
import { gatherCalls } from '../gather.ts';
import type { Holdings } from '../holdings.ts';
import { makeClaims, mostAtOnce } from '../queue/claim.ts';
import { leaseSeconds, renewEveryMs } from '../queue/lease.ts';
import { arrivalsChannel, type GoingOn } from './arriving.ts';
import { freezeArrivals, type ReadArrival } from './freeze.ts';
import { type HeldArrival, makeHoldings } from './holdings.ts';
import { makeResolve } from './resolve.ts';

export interface ReadingOptions {
  app: App;
  spool: Spool;
  node: string;
  mailHost: string;
  /** Told of everything that is done. */
  counted?(outcome: 'told' | 'report' | 'unreadable' | 'lost'): void;
  /** Told of every report that was applied: what became of its recipient. */
  countedReport?(following: Following): void;
  reader?: Partial<ReaderOptions>;
  /** For tests: how long a large one waits for its turn. */
  turnMs?: number;
}

/** Reads what has arrived, and tells of it. What it works on is under its lease; the rest waits in rows. */
export interface Readings extends GoingOn {
  readonly reader: Pick<Reader, 'threads' | 'ended'>;
  stop(): Promise<void>;
}

/** Nobody reads here now. */
export const nobodyReads: GoingOn = { reserve: () => false, release: () => {}, begin: () => {} };

/** Of those that are larger than this, so many have their bytes in memory, and of one organization half of them. */
const sizes = [
  { above: 1024 * 1024, slots: 2 },
  { above: 65_536, slots: 16 },
];
/** So often it is taken up; after that it is told with what is known without reading it: whatever reads it does not survive it. */
const mostAttempts = 5;
/** Until its bytes are looked for again, or its turn. */
const againSeconds = 60;
/** What is read so soon after others were told of is told with the next: a batch costs the database some milliseconds, whatever is in it. */
const paceMs = 100;
/** Until what was read is told of again, when the database was away. */
const tellAgainMs = 500;

const unread: ReadResult = { kind: 'mail', mail: unreadMail('it could not be read; its content is as it came') };

export function startReadings(options: ReadingOptions): Readings {
  const { app } = options;
  const reader = makeReader({ resolve: makeResolve(app.dns), ...options.reader });
  const held = makeHoldings();
  const turnstiles = sizes.map(({ above, slots }) => ({
    above,
    turns: makeFairSemaphore({ slots, perOrg: slots / 2, maxWaitingPerOrg: held.room, waitMs: options.turnMs ?? 600_000 }),
  }));
  const freeze = gatherCalls(app, (read: ReadArrival[]) => freezeBatch(options, read), {
    ...{ name: 'email.freeze', paceMs },
    fallsApart: (error) => !isUnavailable(error),
  });
  const freezing = new Set<Promise<unknown>>();
  const turn = { afterOrg: '', isBehind: false };
  let isStopping = false;

  const tell = async (arrival: HeldArrival, result: ReadResult) => {
    const telling = tellWhenThere(
      () => freeze({ arrival, result }),
      () => isStopping,
    );
    freezing.add(telling);
    await telling.finally(() => freezing.delete(telling));
  };
  const work = async (arrival: HeldArrival) => {
    try {
      const read = () => readArrival(options, reader, arrival);
      const crowded = turnstiles.find(({ above }) => arrival.body_bytes > above);
      const result = crowded ? await crowded.turns.run(arrival.org_id, read).catch(unlessCrowded) : await read();
      if (isStopping) return;
      if (result) await tell(arrival, result);
      else await app.db.write((tx) => store.putBack(tx, [arrival], againSeconds));
    } catch (error) {
      // It is still a row: whoever claims it when the lease lapses goes on.
      if (!isUnavailable(error)) app.log.warn({ err: error, message: arrival.message_id }, 'mail that arrived could not be told of yet');
    } finally {
      // What is held when we stop is given back then, with what was read too late.
      if (!isStopping) held.remove(arrival);
      // Room is no reason to look if nothing waited for it.
      if (turn.isBehind) claims.nudge();
    }
  };
  const begin = (born: readonly HeldArrival[]) => {
    if (isStopping) return void giveBack(app, born);
    for (const arrival of born) {
      const kept = held.add(arrival);
      void runFor({ org: arrival.org_id, operation: 'email.read' }, () => work(kept), app.watch);
    }
  };
  const claims = makeClaims({ app }, async () => {
    const claimed = await claimMore(options, held, turn);
    if (claimed === 'full') return 'full';
    if (isStopping) {
      await giveBack(app, claimed.found);
      return 'none';
    }
    for (const { org_id } of claimed.found) held.take(org_id);
    begin(claimed.found);
    return claimed.mayBeMore ? 'more' : 'none';
  });
  const renewal = setInterval(() => void renewHeld(app, held), renewEveryMs);
  const unhear = [app.waker.hear(arrivalsChannel, claims.nudge), app.waker.hear(clockMoved, claims.nudge)];
  return {
    reader,
    reserve: held.reserve,
    release: held.release,
    begin,
    async stop() {
      held.close();
      isStopping = true;
      for (const forget of unhear) forget();
      clearInterval(renewal);
      await claims.stop();
      await reader.stop();
      await Promise.allSettled([...freezing]);
      await giveBack(app, [...held.items.values()]);
    },
  };
}

interface Turn {
  /** Where the next turn begins: after this organization. */
  afterOrg: string;
  /** Rows may wait for room here: whenever there is some, it is worth a look. */
  isBehind: boolean;
}

/** Takes what waits, of organizations in turn. */
async function claimMore(
  { app, node }: ReadingOptions,
  held: Holdings<HeldArrival>,
  turn: Turn,
): Promise<'full' | { found: HeldArrival[]; mayBeMore: boolean }> {
  const { byOrg: running, perOrg } = held;
  // What each organization may have depends on what the others have: so a claim is a part of the room, and the next one is judged anew.
  const limit = Math.min(held.room, mostAtOnce);
  turn.isBehind = true;
  if (limit === 0) return 'full';
  const found = await app.db.write(async (tx) => {
    const [, orgs] = await Promise.all([store.findByIndex(tx), store.findOrgs(tx, turn.afterOrg)]);
    turn.afterOrg = orgs.length < mostOrgs ? '' : orgs.at(-1)!;
    const wanted = { orgs, running, perOrg, limit, lease: randomUUID(), leaseSeconds, held: [...held.items.keys()], node };
    return orgs.length ? store.claimArrivals(tx, wanted) : [];
  });
  turn.isBehind = found.length > 0 || turn.afterOrg !== '' || [...running.values()].some((count) => count >= perOrg);
  return { found, mayBeMore: found.length === limit || turn.afterOrg !== '' };
}

/** Undefined: its bytes are not here now. */
async function readArrival(
  { app, spool, mailHost }: ReadingOptions,
  reader: Reader,
  arrival: HeldArrival,
): Promise<ReadResult | undefined> {
  const isReport = arrival.route_id === null;
  const given: ReadResult = isReport ? { kind: 'report', report: { kind: 'other', recipients: [] } } : unread;
  if (arrival.attempts > mostAttempts) return given;
  const { message_id: message, body_key: key, body_offset: offset, body_bytes: bytes } = arrival;
  const raw =
    arrival.raw ??
    (await spool
      .read({ key, offset, bytes })
      .then((stream) => stream && buffer(stream))
      .catch((err: unknown) => app.log.warn({ err, message, key }, 'the content of mail that arrived could not be had')));
  if (!raw) {
    app.log.warn({ message, key }, 'the content of mail that arrived is not here; looking again');
    return undefined;
  }
  const { remoteIp: ip, helo, mailFrom: sender } = arrival.envelope;
  const reading: Reading = { kind: isReport ? 'report' : 'mail', raw, from: { ip, helo, sender }, mailHost };
  return reader.read(arrival.org_id, reading);
}

/** It waited for its turn in vain, and nobody has looked at it yet. */
function unlessCrowded(error: unknown): undefined {
  if (!(error instanceof TenantThrottled)) throw error;
}

/** A database that is away is no reason to read it again: it is told of once it is back, unless another process has its lease by then. */
async function tellWhenThere(tell: () => Promise<unknown>, isStopping: () => boolean): Promise<void> {
  for (;;) {
    try {
      await tell();
      return;
    } catch (error) {
      if (!isUnavailable(error) || isLate(error) || isStopping()) throw error;
      await sleep(tellAgainMs);
    }
  }
}

/** The database was there, but waited for a lock or worked for too long: soon it would do so again, and all who are told of together with it. */
const isLate = (error: unknown) => ['55P03', '57014'].includes(String((error as { cause?: { code?: unknown } }).cause?.code));

async function freezeBatch(options: ReadingOptions, read: readonly ReadArrival[]): Promise<undefined[]> {
  const { app, counted, countedReport } = options;
  const { told, followed } = await app.db.write((tx) => freezeArrivals(tx, app, read));
  for (const following of followed) countedReport?.(following);
  for (const { arrival, result } of read) counted?.(told.has(arrival.id) ? nameOutcome(result) : 'lost');
  return read.map(() => undefined);
}

function nameOutcome(result: ReadResult): 'told' | 'report' | 'unreadable' {
  if (result.kind === 'report') return 'report';
  return result.mail.problem === null ? 'told' : 'unreadable';
}

async function renewHeld(app: App, held: Holdings<HeldArrival>): Promise<void> {
  const leased = [...held.items.values()].map(({ id, lease }) => ({ id, lease, leaseSeconds }));
  if (leased.length === 0) return;
  await app.db
    .write((tx) => store.renewArrivals(tx, leased))
    .catch((err) => app.log.warn({ err }, 'leases of mail that arrived could not be renewed'));
}

/** What was not read to its end is free for others at once. */
async function giveBack(app: App, held: readonly HeldArrival[]): Promise<void> {
  if (held.length > 0) await app.db.write((tx) => store.putBack(tx, held, 0)).catch(() => {});
}
