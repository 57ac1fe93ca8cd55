import { randomUUID } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import type { App } from '../../../../kernel/app.ts';
import { isAway } from '../../../../kernel/db/index.ts';
import { clockMoved, mostOrgs } from '../../../../kernel/jobs/index.ts';
import { makeTurnstile, onBehalf } from '../../../../kernel/shares/index.ts';
import type { Spool } from '../../../../kernel/spool/index.ts';
import { makeReader, type Reader, type ReaderOptions, type Reading, type ReadResult, unreadMail } from '../../clients/reader/index.ts';
import * as store from '../../store/arrivals.ts';
import type { Following } from '../feedback/index.ts';
import { makeClaims } from '../queue/claim.ts';
import { leaseSeconds, renewEveryMs } from '../queue/lease.ts';
import { gatherCalls } from '../webhooks/gather.ts';
import { freezeArrivals, type ReadArrival } from './freeze.ts';
import { arrivalsChannel } from './intake.ts';
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
}

/** Reads what has arrived, and tells of it. What it works on is under its lease; the rest waits in rows. */
export interface Readings {
  readonly reader: Pick<Reader, 'threads' | 'ended'>;
  stop(): Promise<void>;
}

/** Under our lease at once, of one organization half of it. */
const mostHeld = 128;
/** Of those that are larger than this, so many have their bytes in memory, and of one organization half of them. */
const sizes = [
  { above: 1024 * 1024, slots: 2 },
  { above: 65_536, slots: 16 },
];
/** So often it is taken up; after that it is told with what is known without reading it: whatever reads it does not survive it. */
const mostAttempts = 5;
/** Until its bytes are looked for again. */
const againSeconds = 60;

const unread: ReadResult = { kind: 'mail', mail: unreadMail('it could not be read; its content is as it came') };

export function startReadings(options: ReadingOptions): Readings {
  const { app, node } = options;
  const reader = makeReader({ resolve: makeResolve(app.dns), ...options.reader });
  const held = new Map<number, store.ArrivalRow>();
  const byOrg = new Map<string, number>();
  const turnstiles = sizes.map(({ above, slots }) => ({
    above,
    turns: makeTurnstile({ slots, perOrg: slots / 2, mostWaiting: mostHeld, waitMs: 600_000 }),
  }));
  const freeze = gatherCalls((read: ReadArrival[]) => freezeEach(options, read));
  let isStopping = false;
  let afterOrg = '';

  const count = (org: string, by: number) => {
    const left = (byOrg.get(org) ?? 0) + by;
    if (left > 0) byOrg.set(org, left);
    else byOrg.delete(org);
  };
  const work = async (arrival: store.ArrivalRow) => {
    try {
      const read = () => readArrival(options, reader, arrival);
      const crowded = turnstiles.find(({ above }) => arrival.body_bytes > above);
      const result = crowded ? await crowded.turns.pass(arrival.org_id, read) : await read();
      if (isStopping) return;
      if (result) await freeze({ arrival, result });
      else await app.db.write((tx) => store.putBack(tx, arrival, againSeconds));
    } catch (error) {
      // It is still a row: whoever claims it when the lease lapses goes on.
      if (!isAway(error)) app.log.warn({ err: error, message: arrival.message_id }, 'mail that arrived could not be told of yet');
    } finally {
      held.delete(arrival.id);
      count(arrival.org_id, -1);
      claims.nudge();
    }
  };
  const claimMore = async (): Promise<'more' | 'none' | 'full'> => {
    const room = mostHeld - held.size;
    if (room <= 0 || isStopping) return 'full';
    const claimed = await app.db.write(async (tx) => {
      const orgs = await store.findOrgs(tx, afterOrg);
      afterOrg = orgs.length < mostOrgs ? '' : orgs.at(-1)!;
      const lease = randomUUID();
      const wanted = { orgs, running: byOrg, perOrg: mostHeld / 2, limit: room, lease, leaseSeconds, held: [...held.keys()], node };
      return orgs.length ? store.claimArrivals(tx, wanted) : [];
    });
    for (const arrival of claimed) {
      held.set(arrival.id, arrival);
      count(arrival.org_id, 1);
      void onBehalf({ org: arrival.org_id, act: 'email.read' }, () => work(arrival), app.watch);
    }
    return claimed.length === room || afterOrg !== '' ? 'more' : 'none';
  };
  const claims = makeClaims({ app }, claimMore);
  const renewal = setInterval(() => void renewHeld(app, held), renewEveryMs);
  const unhear = [app.waker.hear(arrivalsChannel, claims.nudge), app.waker.hear(clockMoved, claims.nudge)];
  return {
    reader,
    async stop() {
      isStopping = true;
      for (const forget of unhear) forget();
      clearInterval(renewal);
      await claims.stop();
      await reader.stop();
      await giveBack(app, [...held.values()]);
    },
  };
}

/** Undefined: its bytes are not here now. */
async function readArrival(
  { app, spool, mailHost }: ReadingOptions,
  reader: Reader,
  arrival: store.ArrivalRow,
): Promise<ReadResult | undefined> {
  const isReport = arrival.route_id === null;
  const given: ReadResult = isReport ? { kind: 'report', report: { kind: 'other', recipients: [] } } : unread;
  if (arrival.attempts > mostAttempts) return given;
  const { message_id: message, body_key: key, body_offset: offset, body_bytes: bytes } = arrival;
  const raw = await spool
    .read({ key, offset, bytes })
    .then((stream) => stream && buffer(stream))
    .catch((err: unknown) => app.log.warn({ err, message, key }, 'the content of mail that arrived could not be had'));
  if (!raw) {
    app.log.warn({ message, key }, 'the content of mail that arrived is not here; looking again');
    return undefined;
  }
  const { remoteIp: ip, helo, mailFrom: sender } = arrival.envelope;
  const reading: Reading = isReport ? { kind: 'report', raw } : { kind: 'mail', raw, from: { ip, helo, sender }, mailHost };
  return reader.read(arrival.org_id, reading);
}

/** One that the database cannot take must not take the others along. */
async function freezeEach(options: ReadingOptions, read: readonly ReadArrival[]): Promise<undefined[]> {
  const { app } = options;
  const freezeSome = async (some: readonly ReadArrival[]) => {
    const { told, followed } = await app.db.write((tx) => freezeArrivals(tx, app, some));
    for (const following of followed) options.countedReport?.(following);
    return told;
  };
  try {
    const told = await freezeSome(read);
    for (let lost = read.length - told; lost > 0; lost--) options.counted?.('lost');
  } catch (error) {
    if (isAway(error)) throw error;
    for (const each of read)
      await freezeSome([each]).catch((err) =>
        app.log.warn({ err, message: each.arrival.message_id }, 'mail that arrived is not told of yet'),
      );
  }
  for (const { result } of read)
    options.counted?.(result.kind === 'report' ? 'report' : result.mail.problem === null ? 'told' : 'unreadable');
  return read.map(() => undefined);
}

async function renewHeld(app: App, held: ReadonlyMap<number, store.ArrivalRow>): Promise<void> {
  const leased = [...held.values()].map(({ id, lease }) => ({ id, lease, leaseSeconds }));
  if (leased.length === 0) return;
  await app.db
    .write((tx) => store.renewArrivals(tx, leased))
    .catch((err) => app.log.warn({ err }, 'leases of mail that arrived could not be renewed'));
}

/** What was not read to its end is free for others at once. */
async function giveBack(app: App, held: readonly store.ArrivalRow[]): Promise<void> {
  for (const arrival of held) await app.db.write((tx) => store.putBack(tx, arrival, 0)).catch(() => {});
}
