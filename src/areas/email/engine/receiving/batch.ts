import { randomUUID } from 'node:crypto';
import { DatabaseUnavailable, isUnavailable, type Tx } from '../../../../kernel/db/index.ts';
import { Refusal } from '../../../../kernel/errors.ts';
import { wake } from '../../../../kernel/jobs/index.ts';
import type { Spool, SpoolPosition } from '../../../../kernel/spool/index.ts';
import { makeIds } from '../../../../kernel/time.ts';
import { foldAddress } from '../../rules/envelope.ts';
import { inboundShares, smallBytes } from '../../rules/receiving.ts';
import * as store from '../../store/receiving/arrivals-taken.ts';
import { addSegment } from '../../store/receiving/intake.ts';
import { leaseSeconds } from '../queue/lease.ts';
import { SegmentSealed } from '../segments.ts';
import { type Arriving, arrivalsChannel, type ReceptionOptions } from './arriving.ts';
import type { HeldArrival } from './holdings.ts';

/** What a batch needs to know. */
export interface Batch extends ReceptionOptions {
  /** Segments of which a row is committed. */
  knownSegments: Set<string>;
  full: Refusals;
}

/** Who was refused for want of room, and when. */
export interface Refusals {
  /** `full`: an organization, for everything. `large`: an organization, for large messages. `sender`: an organization and a sender. */
  note(what: 'full' | 'large' | 'sender', name: string): void;
  was(what: 'full' | 'large' | 'sender', name: string, ms: number): boolean;
}

export type Taken = { id: string } | { error: unknown };

/** What a row costs beside its bytes: a flood of tiny messages is one too. */
export const overheadBytes = 1_024;
/** So long an organization without room is not asked about again. */
export const fullMs = 30_000;

/** The database was asked to COMMIT, and its answer never came: perhaps it was taken. */
export class InDoubt extends DatabaseUnavailable {}

/** Somebody has no room for theirs: each must be judged. */
class NoRoom extends Error {}

/** Nearly always there is room for all of them, and one statement does everything. Else nothing has happened, and each is judged before it is written. */
export async function writeBatch(options: Batch, all: readonly Arriving[]): Promise<Taken[]> {
  if (!all.some(({ to }) => to.some(({ destination }) => options.full.was('full', destination.org, fullMs)))) {
    try {
      return await write(options, all, false);
    } catch (error) {
      if (!(error instanceof NoRoom)) throw error;
    }
  }
  return write(options, all, true);
}

interface Written {
  refusals: (Refusal | undefined)[];
  rows: Rows;
  beginning: string;
  born: HeldArrival[];
  segment: string | undefined;
}

async function write(options: Batch, all: readonly Arriving[], isJudged: boolean): Promise<Taken[]> {
  const { app, knownSegments } = options;
  const readings = options.readings();
  const reserved: string[] = [];
  const giveBack = () => {
    for (const org of reserved.splice(0)) readings.release(org);
  };
  let takeBack = async () => {};
  let isWhole = false;
  let written: Written;
  try {
    written = await app.db.write(async (tx) => {
      isWhole = false; // a transaction that lost a race is run again
      giveBack();
      await takeBack();
      const refusals = isJudged ? judge(options, all, await readUsage(tx, all)) : [];
      const taken = all.filter((_, n) => !refusals[n]);
      const appended = append(options.spool, taken);
      const { segment, placeOf } = appended;
      takeBack = appended.takeBack;
      const rows = makeRows(taken, placeOf, options.node, (org) => {
        const isReserved = readings.reserve(org);
        if (isReserved) reserved.push(org);
        return isReserved;
      });
      if (rows.arrivals.length === 0) return { refusals, rows, beginning: '', born: [], segment };
      if (rows.arrivals.some(({ lease }) => lease === null)) wake(tx, arrivalsChannel);
      const shares = isJudged ? undefined : inboundShares(app.config.email_inbound_quota_bytes);
      const counted = { orgs: countOrgs(rows.arrivals, shares), senders: countSenders(rows.arrivals) };
      const batch = { arrivals: rows.arrivals, leaseSeconds, counted, mostOfSender: shares?.sender ?? null, segment };
      const [, result] = await Promise.all([
        segment === undefined || knownSegments.has(segment) || addSegment(tx, segment, options.node),
        store.takeArrivals(tx, batch),
      ]);
      if (!result.is_open) throw new SegmentSealed(segment!);
      if (!result.has_room) throw new NoRoom();
      await appended.written;
      isWhole = true;
      return { refusals, rows, beginning: result.beginning, born: bornOf(rows, result), segment };
    });
  } catch (error) {
    giveBack();
    if (error instanceof NoRoom) await takeBack();
    throw isWhole && isUnavailable(error) ? new InDoubt(error) : error;
  }
  const { refusals, rows, beginning, born, segment } = written;
  if (segment !== undefined && !knownSegments.has(segment)) {
    knownSegments.clear(); // no batch goes into an earlier one any more
    knownSegments.add(segment);
  }
  readings.begin(born);
  return all.map((arriving, n) => (refusals[n] ? { error: refusals[n] } : { id: rows.idOf(arriving, beginning) }));
}

const orgsOf = (all: readonly Arriving[]) => [...new Set(all.flatMap(({ to }) => to.map(({ destination }) => destination.org)))];

const sizeOf = ({ content }: Arriving) => (Buffer.isBuffer(content) ? content.length : content.bytes);

interface Usage {
  /** By organization. */
  stored: Map<string, number>;
  /** By organization and sender. */
  bySender: Map<string, number>;
}

const nameSender = (org: string, sender: string) => `${org} ${sender}`;

/** The organizations' rows are locked, and with them those of their senders. */
async function readUsage(tx: Tx, all: readonly Arriving[]): Promise<Usage> {
  const stored = await store.lockReceived(tx, orgsOf(all));
  const senders = await store.readSenders(tx, orgsOf(all), [...new Set(all.map(({ sender }) => sender))]);
  return {
    stored: new Map(stored.map((u) => [u.org_id, u.stored])),
    bySender: new Map(senders.map((u) => [nameSender(u.org_id, u.sender), u.stored])),
  };
}

/** In the order in which they came: the room that one takes the next one does not have. Reports have some room beyond it. */
function judge({ app, full }: Batch, all: readonly Arriving[], { stored, bySender }: Usage): (Refusal | undefined)[] {
  const shares = inboundShares(app.config.email_inbound_quota_bytes);
  return all.map((arriving) => {
    const bytes = sizeOf(arriving) + overheadBytes;
    const isLarge = sizeOf(arriving) > smallBytes;
    const isReport = arriving.to.some(({ destination }) => destination.kind === 'report');
    const most = isReport ? shares.report : isLarge ? shares.large : shares.small;
    const mine = new Map<string, number>();
    for (const { destination } of arriving.to) mine.set(destination.org, (mine.get(destination.org) ?? 0) + bytes);
    const after = (usage: ReadonlyMap<string, number>, name: string, org: string) => (usage.get(name) ?? 0) + mine.get(org)!;
    for (const org of mine.keys()) {
      if (after(stored, org, org) > most) {
        if (!isReport) full.note(isLarge ? 'large' : 'full', org);
        return new Refusal(429, 'inbound_quota', 'there is no room left for mail to this recipient; try again later');
      }
      const name = nameSender(org, arriving.sender);
      if (!isReport && after(bySender, name, org) > shares.senderAt(after(stored, org, org))) {
        full.note('sender', name);
        return new Refusal(429, 'inbound_quota', 'you have used your share of the room for mail to this recipient; try again later');
      }
    }
    for (const org of mine.keys()) {
      const name = nameSender(org, arriving.sender);
      stored.set(org, after(stored, org, org));
      if (!isReport) bySender.set(name, after(bySender, name, org));
    }
    return undefined;
  });
}

function append(spool: Spool, taken: readonly Arriving[]) {
  const inline = taken.filter(({ content }) => Buffer.isBuffer(content));
  const { places, written, takeBack } = inline.length
    ? spool.append(inline.map(({ content }) => content as Buffer))
    : { places: [] as SpoolPosition[], written: Promise.resolve(), takeBack: async () => {} };
  written.catch(() => {}); // it is waited for before COMMIT, if the statements get that far
  return { placeOf: new Map(inline.map((arriving, n) => [arriving, places[n]!])), segment: places[0]?.key, written, takeBack };
}

interface Rows {
  arrivals: store.NewArrival[];
  /** The bytes of those that this process goes on with, by their leases. */
  inline: Map<string, Buffer | undefined>;
  /** The id in the log of the first message that it became; `beginning` is what new ids have before those given here. */
  idOf(arriving: Arriving, beginning: string): string;
}

/** A message for each route that it takes: each has an endpoint, and a fate of its own. They share their bytes. */
function makeRows(
  taken: readonly Arriving[],
  placeOf: ReadonlyMap<Arriving, SpoolPosition>,
  node: string,
  reserve: (org: string) => boolean,
): Rows {
  const arrivals: store.NewArrival[] = [];
  const inline: Rows['inline'] = new Map();
  const firstOf = new Map<Arriving, store.NewArrival>();
  const endings = makeEndings(taken.reduce((sum, { to }) => sum + to.length, 0));
  for (const arriving of taken) {
    const { content, envelope } = arriving;
    const place = placeOf.get(arriving) ?? { ...(content as { key: string; bytes: number }), offset: 0 };
    for (const { destination, addresses } of arriving.to) {
      const isRouted = destination.kind === 'route';
      const lease = reserve(destination.org) ? randomUUID() : null;
      if (lease !== null) inline.set(lease, Buffer.isBuffer(content) ? content : undefined);
      const row: store.NewArrival = {
        ...{
          org_id: destination.org,
          id: isRouted ? endings.pop()! : destination.messageId,
          domain_id: isRouted ? destination.domainId : null,
        },
        ...{ route_id: isRouted ? destination.routeId : null, endpoint_id: isRouted ? destination.endpointId : null },
        ...{ recipient_id: isRouted ? null : destination.recipientId, envelope: { ...envelope, rcptTo: addresses } },
        ...{ folded: isRouted ? addresses.map(foldAddress) : [], body_key: place.key, body_offset: place.offset, body_bytes: place.bytes },
        ...{ node: placeOf.has(arriving) ? node : null, lease, received_from: arriving.sender },
      };
      arrivals.push(row);
      if (!firstOf.has(arriving)) firstOf.set(arriving, row);
    }
  }
  return { arrivals, inline, idOf: (arriving, beginning) => messageIdOf(firstOf.get(arriving)!, beginning) };
}

/** The random part of ids: the database knows what time it is, and puts it before them. */
const makeEndings = (count: number): string[] =>
  makeIds('msg', '1970-01-01T00:00:00Z', count).map((id) => id.slice('msg_0000000000'.length));

const messageIdOf = ({ route_id, id }: store.NewArrival, beginning: string) => (route_id === null ? id : `${beginning}${id}`);

/** `most`: what each may have stored with it, above which it depends on what is large, and whose it is; null: it was judged before. */
function countOrgs(arrivals: readonly store.NewArrival[], shares: { large: number } | undefined) {
  const counted = new Map<string, { org: string; messages: number; bytes: number; most: number | null }>();
  for (const { org_id: org, body_bytes } of arrivals) {
    const { messages, bytes } = counted.get(org) ?? { messages: 0, bytes: 0 };
    counted.set(org, { org, messages: messages + 1, bytes: bytes + body_bytes + overheadBytes, most: shares?.large ?? null });
  }
  return [...counted.values()];
}

/** Reports are nobody's share: one has an address of its own, which its sender was given. */
function countSenders(arrivals: readonly store.NewArrival[]) {
  const counted = new Map<string, { org: string; sender: string; bytes: number }>();
  for (const { org_id: org, route_id, received_from: sender, body_bytes } of arrivals) {
    if (route_id === null) continue;
    const name = nameSender(org, sender);
    counted.set(name, { org, sender, bytes: (counted.get(name)?.bytes ?? 0) + body_bytes + overheadBytes });
  }
  return [...counted.values()];
}

/** What this process goes on with. */
function bornOf({ arrivals, inline }: Rows, { beginning, born }: { beginning: string; born: readonly { id: number; lease: string }[] }) {
  const idOf = new Map(born.map(({ id, lease }) => [lease, id]));
  return arrivals.flatMap((row): HeldArrival[] => {
    if (row.lease === null) return [];
    const { id: _, domain_id, folded, node, lease, received_from, ...rest } = row;
    const raw = inline.get(lease);
    return [{ ...rest, id: idOf.get(lease)!, lease, message_id: messageIdOf(row, beginning), attempts: 1, ...(raw ? { raw } : {}) }];
  });
}
