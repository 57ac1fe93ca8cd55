import { randomUUID } from 'node:crypto';
import { DatabaseUnavailable, isUnavailable, type Tx } from '../../../../kernel/db/index.ts';
import { Refusal } from '../../../../kernel/errors.ts';
import { hintEach, wake } from '../../../../kernel/jobs/index.ts';
import type { Spool, SpoolPosition } from '../../../../kernel/spool/index.ts';
import { makeIds } from '../../../../kernel/time.ts';
import { arrivalsChannel } from '../../engine/channels.ts';
import { SegmentSealed } from '../../engine/segments.ts';
import { leaseSeconds } from '../../outbound/engine/queue/lease.ts';
import { foldAddress } from '../../rules/envelope.ts';
import { addSegment } from '../../store/segments.ts';
import { inboundShares, smallMessageBytes } from '../rules/receiving.ts';
import * as store from '../store/insert-arrivals.ts';
import type { LeasedArrival } from './in-flight.ts';
import type { InboundIntakeOptions, InboundMessage } from './inbound-message.ts';

export interface InboundBatchOptions extends InboundIntakeOptions {
  /** Segments whose row is committed. */
  knownSegments: Set<string>;
  recentRefusals: RecentRefusals;
}

/** Recent refusals because of a full quota. */
export interface RecentRefusals {
  /** `full`: an organization, for everything. `large`: an organization, for large messages. `sender`: an organization and a sender. */
  note(what: 'full' | 'large' | 'sender', name: string): void;
  refusedWithin(what: 'full' | 'large' | 'sender', name: string, ms: number): boolean;
}

export type TakeResult = { id: string } | { error: unknown };

/** Counted for each row beside its bytes, so that a flood of tiny messages fills the quota too. */
export const rowOverheadBytes = 1_024;
/** A full organization is not checked again for this long. */
export const fullCooldownMs = 30_000;

/** The answer to COMMIT was lost: the message may have been accepted. */
export class CommitInDoubt extends DatabaseUnavailable {}

/** An organization or sender is over its quota: each message must be judged. */
class QuotaExceeded extends Error {}

/** Tries one statement for the whole batch, which nearly always fits the quotas. Otherwise nothing was written, and each message is judged first. */
export async function writeBatch(options: InboundBatchOptions, messages: readonly InboundMessage[]): Promise<TakeResult[]> {
  if (
    !messages.some(({ destinations }) =>
      destinations.some(({ destination }) => options.recentRefusals.refusedWithin('full', destination.org, fullCooldownMs)),
    )
  ) {
    try {
      return await writeOnce(options, messages, false);
    } catch (error) {
      if (!(error instanceof QuotaExceeded)) throw error;
    }
  }
  return writeOnce(options, messages, true);
}

interface WrittenBatch {
  refusals: (Refusal | undefined)[];
  rows: Rows;
  beginning: string;
  leased: LeasedArrival[];
  segment: string | undefined;
}

async function writeOnce(options: InboundBatchOptions, messages: readonly InboundMessage[], isJudged: boolean): Promise<TakeResult[]> {
  const { app, knownSegments } = options;
  const worker = options.arrivalWorker();
  const reserved: string[] = [];
  const releaseReserved = () => {
    for (const org of reserved.splice(0)) worker.release(org);
  };
  let takeBack = async () => {};
  let isReadyToCommit = false;
  let written: WrittenBatch;
  try {
    written = await app.db.write(async (tx) => {
      isReadyToCommit = false; // the database layer may run this transaction again
      releaseReserved();
      await takeBack();
      const refusals = isJudged ? judgeQuota(options, messages, await readUsage(tx, messages)) : [];
      const accepted = messages.filter((_, n) => !refusals[n]);
      const appended = appendToSpool(options.spool, accepted);
      const { segment, positionOf } = appended;
      takeBack = appended.takeBack;
      const rows = makeRows(accepted, positionOf, options.node, (org) => {
        const isReserved = worker.reserve(org);
        if (isReserved) reserved.push(org);
        return isReserved;
      });
      if (rows.arrivals.length === 0) return { refusals, rows, beginning: '', leased: [], segment };
      if (rows.arrivals.some(({ lease }) => lease === null)) wake(tx, arrivalsChannel);
      hintEach(
        tx,
        rows.arrivals.map(({ org_id }) => org_id),
        'email.message',
      );
      const shares = isJudged ? undefined : inboundShares(app.config.email_inbound_quota_bytes);
      const counted = { orgs: countOrgs(rows.arrivals, shares), senders: countSenders(rows.arrivals) };
      const batch = { arrivals: rows.arrivals, leaseSeconds, counted, mostOfSender: shares?.sender ?? null, segment };
      const [, result] = await Promise.all([
        segment === undefined || knownSegments.has(segment) || addSegment(tx, segment, options.node),
        store.insertArrivals(tx, batch),
      ]);
      if (!result.is_open) throw new SegmentSealed(segment!);
      if (!result.has_room) throw new QuotaExceeded();
      await appended.written;
      isReadyToCommit = true;
      return { refusals, rows, beginning: result.beginning, leased: leasedArrivalsOf(rows, result), segment };
    });
  } catch (error) {
    releaseReserved();
    if (error instanceof QuotaExceeded) await takeBack();
    throw isReadyToCommit && isUnavailable(error) ? new CommitInDoubt(error) : error;
  }
  const { refusals, rows, beginning, leased, segment } = written;
  if (segment !== undefined && !knownSegments.has(segment)) {
    knownSegments.clear(); // earlier segments get no further batches
    knownSegments.add(segment);
  }
  worker.start(leased);
  return messages.map((message, n) => (refusals[n] ? { error: refusals[n] } : { id: rows.idOf(message, beginning) }));
}

const orgsOf = (messages: readonly InboundMessage[]) => [
  ...new Set(messages.flatMap(({ destinations }) => destinations.map(({ destination }) => destination.org))),
];

const sizeOf = ({ content }: InboundMessage) => (Buffer.isBuffer(content) ? content.length : content.bytes);

interface Usage {
  /** By organization. */
  stored: Map<string, number>;
  /** By organization and sender address. */
  bySender: Map<string, number>;
}

const senderKey = (org: string, sender: string) => `${org} ${sender}`;

/** Locks the organizations' usage rows, and so those of their senders. */
async function readUsage(tx: Tx, messages: readonly InboundMessage[]): Promise<Usage> {
  const stored = await store.lockReceived(tx, orgsOf(messages));
  const senders = await store.readSenders(tx, orgsOf(messages), [...new Set(messages.map(({ sender }) => sender))]);
  return {
    stored: new Map(stored.map((u) => [u.org_id, u.stored])),
    bySender: new Map(senders.map((u) => [senderKey(u.org_id, u.sender), u.stored])),
  };
}

/** In order of arrival: each accepted message uses up quota before the next one is judged. Reports have a higher limit. */
function judgeQuota(
  { app, recentRefusals }: InboundBatchOptions,
  messages: readonly InboundMessage[],
  { stored, bySender }: Usage,
): (Refusal | undefined)[] {
  const shares = inboundShares(app.config.email_inbound_quota_bytes);
  return messages.map((message) => {
    const bytes = sizeOf(message) + rowOverheadBytes;
    const isLarge = sizeOf(message) > smallMessageBytes;
    const isReport = message.destinations.some(({ destination }) => destination.kind === 'report');
    const limitBytes = isReport ? shares.report : isLarge ? shares.large : shares.small;
    const needed = new Map<string, number>();
    for (const { destination } of message.destinations) needed.set(destination.org, (needed.get(destination.org) ?? 0) + bytes);
    const usageAfter = (usage: ReadonlyMap<string, number>, name: string, org: string) => (usage.get(name) ?? 0) + needed.get(org)!;
    for (const org of needed.keys()) {
      if (usageAfter(stored, org, org) > limitBytes) {
        if (!isReport) recentRefusals.note(isLarge ? 'large' : 'full', org);
        return new Refusal(429, 'inbound_quota', 'there is no room left for mail to this recipient; try again later');
      }
      const name = senderKey(org, message.sender);
      if (!isReport && usageAfter(bySender, name, org) > shares.senderAt(usageAfter(stored, org, org))) {
        recentRefusals.note('sender', name);
        return new Refusal(429, 'inbound_quota', 'you have used your share of the room for mail to this recipient; try again later');
      }
    }
    for (const org of needed.keys()) {
      const name = senderKey(org, message.sender);
      stored.set(org, usageAfter(stored, org, org));
      if (!isReport) bySender.set(name, usageAfter(bySender, name, org));
    }
    return undefined;
  });
}

function appendToSpool(spool: Spool, accepted: readonly InboundMessage[]) {
  const inline = accepted.filter(({ content }) => Buffer.isBuffer(content));
  const { positions, written, takeBack } = inline.length
    ? spool.append(inline.map(({ content }) => content as Buffer))
    : { positions: [] as SpoolPosition[], written: Promise.resolve(), takeBack: async () => {} };
  written.catch(() => {}); // awaited before COMMIT, unless a statement fails first
  return { positionOf: new Map(inline.map((message, n) => [message, positions[n]!])), segment: positions[0]?.key, written, takeBack };
}

interface Rows {
  arrivals: store.NewArrival[];
  /** Bytes of the arrivals leased by this process, by lease. */
  inline: Map<string, Buffer | undefined>;
  /** The log id of the message's first row; `beginning` precedes the ids chosen here. */
  idOf(message: InboundMessage, beginning: string): string;
}

/** One row per route: each has its own endpoint and outcome. The rows share their bytes. */
function makeRows(
  accepted: readonly InboundMessage[],
  positionOf: ReadonlyMap<InboundMessage, SpoolPosition>,
  node: string,
  reserve: (org: string) => boolean,
): Rows {
  const arrivals: store.NewArrival[] = [];
  const inline: Rows['inline'] = new Map();
  const firstRowOf = new Map<InboundMessage, store.NewArrival>();
  const idSuffixes = makeIdSuffixes(accepted.reduce((sum, { destinations }) => sum + destinations.length, 0));
  for (const message of accepted) {
    const { content, envelope } = message;
    const position = positionOf.get(message) ?? { ...(content as { key: string; bytes: number }), offset: 0 };
    for (const { destination, addresses } of message.destinations) {
      const isRouted = destination.kind === 'route';
      const lease = reserve(destination.org) ? randomUUID() : null;
      if (lease !== null) inline.set(lease, Buffer.isBuffer(content) ? content : undefined);
      const row: store.NewArrival = {
        org_id: destination.org,
        id: isRouted ? idSuffixes.pop()! : destination.messageId,
        domain_id: isRouted ? destination.domainId : null,
        route_id: isRouted ? destination.routeId : null,
        endpoint_id: isRouted ? destination.endpointId : null,
        recipient_id: isRouted ? null : destination.recipientId,
        envelope: { ...envelope, rcptTo: addresses },
        folded: isRouted ? addresses.map(foldAddress) : [],
        body_key: position.key,
        body_offset: position.offset,
        body_bytes: position.bytes,
        node: positionOf.has(message) ? node : null,
        lease,
        received_from: message.sender,
      };
      arrivals.push(row);
      if (!firstRowOf.has(message)) firstRowOf.set(message, row);
    }
  }
  return { arrivals, inline, idOf: (message, beginning) => messageIdOf(firstRowOf.get(message)!, beginning) };
}

/** The random part of ids. The database prefixes its own time. */
const makeIdSuffixes = (count: number): string[] =>
  makeIds('msg', '1970-01-01T00:00:00Z', count).map((id) => id.slice('msg_0000000000'.length));

const messageIdOf = ({ route_id, id }: store.NewArrival, beginning: string) => (route_id === null ? id : `${beginning}${id}`);

/** `most`: up to this many stored bytes the statement accepts without judging size and sender; null: already judged. */
function countOrgs(arrivals: readonly store.NewArrival[], shares: { large: number } | undefined) {
  const counted = new Map<string, { org: string; messages: number; bytes: number; most: number | null }>();
  for (const { org_id: org, body_bytes } of arrivals) {
    const { messages, bytes } = counted.get(org) ?? { messages: 0, bytes: 0 };
    counted.set(org, { org, messages: messages + 1, bytes: bytes + body_bytes + rowOverheadBytes, most: shares?.large ?? null });
  }
  return [...counted.values()];
}

/** Reports count for no sender: each comes to a return path that we gave to its sender. */
function countSenders(arrivals: readonly store.NewArrival[]) {
  const counted = new Map<string, { org: string; sender: string; bytes: number }>();
  for (const { org_id: org, route_id, received_from: sender, body_bytes } of arrivals) {
    if (route_id === null) continue;
    const name = senderKey(org, sender);
    counted.set(name, { org, sender, bytes: (counted.get(name)?.bytes ?? 0) + body_bytes + rowOverheadBytes });
  }
  return [...counted.values()];
}

/** The arrivals that this process reads. */
function leasedArrivalsOf(
  { arrivals, inline }: Rows,
  { beginning, born }: { beginning: string; born: readonly { id: number; lease: string }[] },
) {
  const idOf = new Map(born.map(({ id, lease }) => [lease, id]));
  return arrivals.flatMap((row): LeasedArrival[] => {
    if (row.lease === null) return [];
    const { id: _, domain_id, folded, node, lease, received_from, ...rest } = row;
    const raw = inline.get(lease);
    return [{ ...rest, id: idOf.get(lease)!, lease, message_id: messageIdOf(row, beginning), attempts: 1, ...(raw ? { raw } : {}) }];
  });
}
