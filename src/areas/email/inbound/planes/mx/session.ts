import type { Socket } from 'node:net';
import type { RateLimit } from '../../../../../identity/rate-limit.ts';
import { type ByteBudget, runFor } from '../../../../../kernel/fairness/index.ts';
import { addressOfPeer } from '../../../../../kernel/http/peer.ts';
import { type Message, type MessageLimits, Reply, type Session, type SessionHandler } from '../../../../../kernel/smtp/index.ts';
import { InvalidAddress, readAddress } from '../../../rules/address.ts';
import { foldAddress } from '../../../rules/envelope.ts';
import { showable } from '../../../rules/header.ts';
import type { DestinationLookup } from '../../engine/destinations.ts';
import type { Destination } from '../../rules/destination.ts';
import { arrivalLimits } from '../../rules/receiving.ts';
import { type MxContext, maxInMemoryBytes, receiveMessage } from './receive.ts';

export interface MxSessionContext extends MxContext {
  book: DestinationLookup;
  peerOf(socket: Socket): string;
  memoryBudget: ByteBudget;
  /** Accepted messages per address. */
  messageRate: RateLimit;
  /** Refusals per address. */
  refusalRate: RateLimit;
  times: SessionTimeouts;
}

export interface SessionTimeouts {
  /** From DATA to the final dot. */
  messageMs: number;
  /** Since the connection opened, or since its last accepted message. */
  visitMs: number;
}

export const defaultTimeouts: SessionTimeouts = { messageMs: 10 * 60_000, visitMs: 15 * 60_000 };
/** Refusals per connection before it is closed. */
const maxRefusals = 20;

type AcceptedDestination = Extract<Destination, { org: string }>;

interface SessionState {
  peer: string;
  refusals: number;
  timer: NodeJS.Timeout | undefined;
  /** The connection can close while its message is still being stored. */
  isClosed: boolean;
  mailFrom: string;
  /** From the SIZE parameter; 0 without one. */
  bytes: number;
  /** Decisions at RCPT, by folded address. */
  to: Map<string, { address: string; destination: AcceptedDestination }>;
}

/** Handles one MX connection: rate limits, RCPT decisions, size limits. */
export const openMxSession =
  (context: MxSessionContext) =>
  (session: Session): SessionHandler => {
    const state: SessionState = {
      peer: context.peerOf(session.socket),
      refusals: 0,
      timer: undefined,
      isClosed: false,
      mailFrom: '',
      bytes: 0,
      to: new Map(),
    };

    return {
      begin() {
        if (context.refusalRate.left(state.peer) < 1) throw new Reply(421, '4.7.0', 'too much was refused to you; come again later');
        state.timer = armSessionTimeout(context, session);
      },
      beginMessage({ address, parameters }) {
        if (parameters.has('SMTPUTF8')) throw new Reply(550, '5.6.7', 'SMTPUTF8 is not offered');
        const { allowed } = context.messageRate.take(state.peer);
        if (!allowed) throw new Reply(451, '4.7.1', 'you deliver more messages a second than we take from one address; slow down');
        state.mailFrom = showable(address, 320);
        state.bytes = Number(parameters.get('SIZE') ?? 0) || 0;
        state.to = new Map();
      },
      addRecipient: (address) => addRecipient(context, state, address),
      expectMessage: () => expectMessage(context, session, state),
      takeMessage: (message) => takeMessage(context, session, state, message),
      /** Every 5xx counts, per connection and per address. */
      countRefusal(reply) {
        if (reply.responseCode < 500) return reply;
        state.refusals++;
        const { allowed } = context.refusalRate.take(state.peer);
        if (state.refusals < maxRefusals && allowed) return reply;
        return new Reply(421, '4.7.0', 'too much was refused to you; come again later');
      },
      end() {
        state.isClosed = true;
        clearTimeout(state.timer);
      },
    };
  };

const armSessionTimeout = ({ times }: MxSessionContext, session: Session) =>
  session.closeAfter(times.visitMs, 'this has taken long enough; come again');

/** The bytes are charged to the peer address and to the organization of every recipient. */
function expectMessage(context: MxSessionContext, session: Session, { to, peer: place }: SessionState): MessageLimits {
  const isReport = [...to.values()].some(({ destination }) => destination.kind === 'report');
  const mostBytes = isReport ? arrivalLimits.reportBytes : arrivalLimits.bytes;
  const orgs = new Set([...to.values()].map(({ destination }) => destination.org));
  const held = context.memoryBudget.open({ org: [...orgs], address: place });
  const deadline = session.closeAfter(context.times.messageMs, 'the message did not arrive in time');
  return {
    mostBytes,
    gatheredBytes: isReport ? mostBytes : maxInMemoryBytes,
    hold: held.reserve,
    end: () => {
      clearTimeout(deadline);
      held.release();
    },
  };
}

/** Accepts or refuses one recipient. Deciding at RCPT leaves the bounce to the client, so this server sends none later. */
async function addRecipient(
  { book, reception }: MxSessionContext,
  { to, bytes, peer: place }: SessionState,
  written: string,
): Promise<void> {
  const read = readAddress(written);
  if (read instanceof InvalidAddress) throw new Reply(553, '5.1.3', `the recipient ${read.why}`);
  const { address, domain } = read;
  const folded = foldAddress(address);
  if (to.size >= arrivalLimits.recipients && !to.has(folded)) throw new Reply(452, '4.5.3', 'too many recipients');
  const destination = await book.find(address.slice(0, -domain.length - 1), domain);
  if (destination.kind === 'foreign') throw new Reply(550, '5.7.1', 'we do not receive mail for this domain, and relay for nobody');
  if (destination.kind === 'unknown') throw new Reply(550, '5.1.1', 'there is no such recipient here');
  if (destination.kind === 'unproven')
    throw new Reply(450, '4.7.1', 'the owner of this domain has not published all of its records yet; try again later');
  const others = [...to.values()];
  if (destination.kind === 'report' ? others.length > 0 : others.some((other) => other.destination.kind === 'report'))
    throw new Reply(452, '4.5.3', 'a report has one recipient; send it to the others apart');
  // DATA has one answer for all recipients, so a full organization is refused here and the others still get the message.
  if (destination.kind === 'route' && (await reception.isFull(destination.org, bytes, place)))
    throw new Reply(452, '4.2.2', 'there is no room left for mail to this recipient; try again later');
  to.set(folded, { address, destination });
}

async function takeMessage(context: MxSessionContext, session: Session, state: SessionState, message: Message): Promise<string> {
  const to = groupByRoute([...state.to.values()]);
  const { org } = to[0]!.destination;
  const { cipher } = session;
  const tls = cipher ? showable(`${cipher.version ?? ''} ${cipher.name ?? ''}`, 100) : null;
  const envelope = {
    mailFrom: state.mailFrom,
    remoteIp: addressOfPeer(session.socket),
    tls,
    helo: showable(session.helo ?? '', 255),
  };
  const id = await runFor(
    { org, operation: 'mail that arrives' },
    () => receiveMessage(context, { envelope, destinations: to, session: session.id, sender: state.peer }, message),
    context.app.watch,
  );
  clearTimeout(state.timer);
  if (!state.isClosed) state.timer = armSessionTimeout(context, session);
  return `2.0.0 Ok: ${id}`;
}

/** One message per route, because each route has its own endpoint. */
function groupByRoute(all: readonly { address: string; destination: AcceptedDestination }[]) {
  const groups = new Map<string, { destination: AcceptedDestination; addresses: string[] }>();
  for (const { address, destination } of all) {
    const name = destination.kind === 'route' ? destination.routeId : address;
    const group = groups.get(name) ?? { destination, addresses: [] };
    group.addresses.push(address);
    groups.set(name, group);
  }
  return [...groups.values()];
}
