import { randomBytes } from 'node:crypto';
import type { Readable } from 'node:stream';
import type { App } from '../../../../kernel/app.ts';
import { isAboutData, type Tx } from '../../../../kernel/db/index.ts';
import { Refusal } from '../../../../kernel/errors.ts';
import { channelNamed, wake } from '../../../../kernel/jobs/index.ts';
import { house, onBehalf } from '../../../../kernel/shares/index.ts';
import type { Place, Spool } from '../../../../kernel/spool/index.ts';
import { makeIds } from '../../../../kernel/time.ts';
import { foldAddress } from '../../rules/envelope.ts';
import type { Envelope } from '../../rules/receiving.ts';
import * as store from '../../store/arrivals.ts';
import { stampBatch, useSegment } from '../../store/intake.ts';
import { largePrefix } from '../intake/prepare.ts';
import { retrySealed, SegmentSealed } from '../segments.ts';
import { gatherCalls } from '../webhooks/gather.ts';
import type { Destination } from './book.ts';

/** Told when something has arrived. */
export const arrivalsChannel = channelNamed('email.arrivals');

/** A message as a door took it in: for whom it is was decided there. */
export interface Arriving {
  envelope: Omit<Envelope, 'rcptTo'>;
  /** By route, or one report. */
  to: readonly { destination: Extract<Destination, { org: string }>; addresses: string[] }[];
  content: Buffer | { key: string; bytes: number };
}

export interface Reception {
  /** The id in the log of the first message that it became, once it is on disk and in the log. Throws a Refusal that says why not. */
  take(arriving: Arriving): Promise<string>;
  /** A large message becomes an object while it comes in. */
  store(stream: Readable): Promise<{ key: string; bytes: number }>;
  /** Nobody was told that it was taken. */
  discard(key: string): void;
  /** Whether an organization had no room left a moment ago. */
  isFull(org: string): boolean;
}

export interface ReceptionOptions {
  app: App;
  /** Of its own: the other one is written to by those who send. */
  spool: Spool;
  node: string;
}

/** What a row costs beside its bytes: a flood of tiny messages is one too. */
const overheadBytes = 1_024;
/** Whoever has no room left for mail still hears what became of theirs. */
const reportShare = 1.25;
/** So long an organization without room is not asked about again. */
const fullMs = 30_000;

/** Takes what arrives: one write, one sync and one transaction for all that came meanwhile. See intake/index.ts, which does so for what leaves. */
export function openReception(options: ReceptionOptions): Reception {
  const { app } = options;
  const full = new Map<string, number>();
  const knownSegments = new Set<string>();
  const noteFull = (org: string) => {
    if (full.size > 10_000) full.clear();
    full.set(org, performance.now() + fullMs);
  };
  const take = gatherCalls((batch: Arriving[]) =>
    onBehalf({ ...house, act: 'email.reception' }, () => writeEach({ ...options, knownSegments, noteFull }, batch), app.watch),
  );
  return {
    async take(arriving) {
      const taken = await take(arriving);
      if ('error' in taken) throw taken.error;
      return taken.id;
    },
    async store(stream) {
      const key = `${largePrefix}/${randomBytes(1).toString('hex')}/${randomBytes(15).toString('hex')}`;
      const { size } = await app.storage.put(key, stream);
      return { key, bytes: size };
    },
    discard: (key) => {
      app.storage.remove(key).catch((err) => app.log.warn({ err, key }, 'content of mail that was not taken is not removed yet'));
    },
    isFull: (org) => (full.get(org) ?? 0) > performance.now(),
  };
}

interface Batch extends ReceptionOptions {
  knownSegments: Set<string>;
  noteFull(org: string): void;
}
type Taken = { id: string } | { error: unknown };

/** One that the database cannot take must not take the others along: they are then written in halves, down to it. */
async function writeEach(options: Batch, batch: readonly Arriving[]): Promise<Taken[]> {
  try {
    return await retrySealed(options.spool, () => writeBatch(options, batch));
  } catch (error) {
    if (batch.length > 1 && isAboutData(error)) {
      const half = Math.ceil(batch.length / 2);
      return [...(await writeEach(options, batch.slice(0, half))), ...(await writeEach(options, batch.slice(half)))];
    }
    if (!(error instanceof Refusal)) options.app.log.warn({ err: error, messages: batch.length }, 'mail that arrived was not taken');
    return batch.map(() => ({ error }));
  }
}

async function writeBatch(options: Batch, batch: readonly Arriving[]): Promise<Taken[]> {
  const { app, knownSegments, node } = options;
  const written = await app.db.write(async (tx) => {
    const orgs = [...new Set(batch.flatMap(({ to }) => to.map(({ destination }) => destination.org)))];
    const [{ now }, usage] = await Promise.all([stampBatch(tx), store.lockReceived(tx, orgs)]);
    const refusals = judge(options, batch, new Map(usage.map((u) => [u.org_id, u.stored])));
    const taken = batch.filter((_, n) => !refusals[n]);
    const { placeOf, segment, synced } = append(options.spool, taken);
    const rows = makeRows(taken, placeOf, now, node);
    const [isOpen] = await Promise.all([
      segment === undefined || useSegment(tx, segment, node, knownSegments.has(segment)),
      insertRows(tx, now, rows),
    ]);
    if (!isOpen) throw new SegmentSealed(segment!);
    await synced;
    return { refusals, ids: rows.ids, segment };
  });
  const { segment, refusals, ids } = written;
  if (segment !== undefined && !knownSegments.has(segment)) {
    knownSegments.clear(); // no batch goes into an earlier one any more
    knownSegments.add(segment);
  }
  return batch.map((arriving, n) => (refusals[n] ? { error: refusals[n] } : { id: ids.get(arriving)! }));
}

const sizeOf = ({ content }: Arriving) => (Buffer.isBuffer(content) ? content.length : content.bytes);

/** In the order in which they came: the room that one takes the next one does not have. Reports have some room beyond it. */
function judge({ app, noteFull }: Batch, batch: readonly Arriving[], stored: Map<string, number>): (Refusal | undefined)[] {
  const quota = app.config.email_inbound_quota_bytes;
  return batch.map((arriving) => {
    const bytes = sizeOf(arriving) + overheadBytes;
    const mine = arriving.to.map(({ destination }) => destination.org);
    const isReport = arriving.to.some(({ destination }) => destination.kind === 'report');
    const over = mine.find((org) => stored.get(org)! + bytes > (isReport ? reportShare * quota : quota));
    if (over !== undefined) {
      if (!isReport) noteFull(over);
      return new Refusal(429, 'inbound_quota', 'there is no room left for mail to this recipient; try again later');
    }
    for (const org of mine) stored.set(org, stored.get(org)! + bytes);
    return undefined;
  });
}

function append(spool: Spool, taken: readonly Arriving[]) {
  const inline = taken.filter(({ content }) => Buffer.isBuffer(content));
  const { places, written } = inline.length
    ? spool.append(inline.map(({ content }) => content as Buffer))
    : { places: [] as Place[], written: Promise.resolve() };
  written.catch(() => {}); // it is waited for before COMMIT, if the statements get that far
  return { placeOf: new Map(inline.map((arriving, n) => [arriving, places[n]!])), segment: places[0]?.key, synced: written };
}

interface Rows {
  messages: store.NewReceived[];
  addresses: { org_id: string; folded: string; message_id: string }[];
  arrivals: store.NewArrival[];
  ids: Map<Arriving, string>;
}

/** A message for each route that it takes: each has an endpoint, and a fate of its own. They share their bytes. */
function makeRows(taken: readonly Arriving[], placeOf: ReadonlyMap<Arriving, Place>, now: string, node: string): Rows {
  const rows: Rows = { messages: [], addresses: [], arrivals: [], ids: new Map() };
  const fresh = makeIds(
    'msg',
    now,
    taken.reduce((sum, { to }) => sum + to.length, 0),
  );
  for (const arriving of taken) {
    const { content, envelope } = arriving;
    const place = placeOf.get(arriving) ?? { ...(content as { key: string; bytes: number }), offset: 0 };
    const body = { body_key: place.key, body_offset: place.offset, body_bytes: place.bytes };
    for (const { destination, addresses } of arriving.to) {
      const { org } = destination;
      const id = destination.kind === 'route' ? fresh.pop()! : destination.messageId;
      if (!rows.ids.has(arriving)) rows.ids.set(arriving, id);
      const isReport = destination.kind === 'report';
      const full = { ...envelope, rcptTo: addresses };
      rows.arrivals.push({
        ...{ org_id: org, message_id: id, envelope: full, ...body, node: placeOf.has(arriving) ? node : null },
        ...{ route_id: isReport ? null : destination.routeId, endpoint_id: isReport ? null : destination.endpointId },
        recipient_id: isReport ? destination.recipientId : null,
      });
      if (isReport) continue;
      const { domainId, endpointId } = destination;
      const shown = { sender: envelope.mailFrom, recipients: addresses };
      rows.messages.push({ org_id: org, id, domain_id: domainId, endpoint_id: endpointId, ...shown, ...body });
      rows.addresses.push(...addresses.map((address) => ({ org_id: org, folded: foldAddress(address), message_id: id })));
    }
  }
  return rows;
}

async function insertRows(tx: Tx, at: string, { messages, addresses, arrivals }: Rows): Promise<void> {
  if (arrivals.length === 0) return;
  const counted = new Map<string, { org: string; messages: number; bytes: number }>();
  for (const { org_id: org, body_bytes } of arrivals) {
    const before = counted.get(org) ?? { org, messages: 0, bytes: 0 };
    counted.set(org, { org, messages: before.messages + 1, bytes: before.bytes + body_bytes + overheadBytes });
  }
  wake(tx, arrivalsChannel);
  await Promise.all([
    messages.length ? store.insertReceived(tx, at, messages) : 0,
    addresses.length ? store.insertAddresses(tx, addresses) : 0,
    store.insertArrivals(tx, at, arrivals),
    counted.size ? store.countReceived(tx, at, [...counted.values()]) : 0,
  ]);
}
