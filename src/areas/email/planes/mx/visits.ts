import type { Socket } from 'node:net';
import type { RateLimit } from '../../../../identity/rate-limit.ts';
import { type ByteBudget, runFor } from '../../../../kernel/fairness/index.ts';
import { addressOfPeer } from '../../../../kernel/http/peer.ts';
import { type Expected, type Message, Reply, type Session, type SessionHandler } from '../../../../kernel/smtp/index.ts';
import type { Destination, DestinationLookup } from '../../engine/receiving/book.ts';
import { readAddress, Unusable } from '../../rules/address.ts';
import { foldAddress } from '../../rules/envelope.ts';
import { showable } from '../../rules/header.ts';
import { arrivalLimits } from '../../rules/receiving.ts';
import { gatheredBytes, type Receiving, receiveMessage } from './receive.ts';

export interface Visiting extends Receiving {
  book: DestinationLookup;
  placeOf(socket: Socket): string;
  held: ByteBudget;
  /** Messages of an address. */
  pace: RateLimit;
  /** What was refused to an address. */
  errors: RateLimit;
  times: VisitTimes;
}

export interface VisitTimes {
  /** The whole of one message. */
  messageMs: number;
  /** A connection, from its beginning or the last message that was taken. */
  visitMs: number;
}

export const visitTimes: VisitTimes = { messageMs: 10 * 60_000, visitMs: 15 * 60_000 };
/** Refusals that one connection may hear. */
const mostErrors = 20;

type Known = Extract<Destination, { org: string }>;

interface State {
  place: string;
  errors: number;
  timer: NodeJS.Timeout | undefined;
  /** Who has left may have left a message that is still being taken. */
  isOver: boolean;
  mailFrom: string;
  /** How large the message will be, if that was said. */
  bytes: number;
  /** By the folded address, what was decided at RCPT. */
  to: Map<string, { address: string; destination: Known }>;
}

/** One visit a connection: from whom, for whom, and how much of it there may be. */
export const openVisit =
  (visiting: Visiting) =>
  (session: Session): SessionHandler => {
    const state: State = {
      place: visiting.placeOf(session.socket),
      errors: 0,
      timer: undefined,
      isOver: false,
      mailFrom: '',
      bytes: 0,
      to: new Map(),
    };

    return {
      begin() {
        if (visiting.errors.left(state.place) < 1) throw new Reply(421, '4.7.0', 'too much was refused to you; come again later');
        state.timer = cutVisit(visiting, session);
      },
      beginMessage({ address, parameters }) {
        if (parameters.has('SMTPUTF8')) throw new Reply(550, '5.6.7', 'SMTPUTF8 is not offered');
        const { allowed } = visiting.pace.take(state.place);
        if (!allowed) throw new Reply(451, '4.7.1', 'you deliver more messages a second than we take from one address; slow down');
        state.mailFrom = showable(address, 320);
        state.bytes = Number(parameters.get('SIZE') ?? 0) || 0;
        state.to = new Map();
      },
      addRecipient: (address) => addRecipient(visiting, state, address),
      expectMessage: () => expectMessage(visiting, session, state),
      takeMessage: (message) => takeMessage(visiting, session, state, message),
      /** Refusals are counted by connection and by address, whatever they are about. */
      countRefusal(reply) {
        if (reply.responseCode < 500) return reply;
        state.errors++;
        const { allowed } = visiting.errors.take(state.place);
        if (state.errors < mostErrors && allowed) return reply;
        return new Reply(421, '4.7.0', 'too much was refused to you; come again later');
      },
      end() {
        state.isOver = true;
        clearTimeout(state.timer);
      },
    };
  };

const cutVisit = ({ times }: Visiting, session: Session) => session.cutAfter(times.visitMs, 'this has taken long enough; come again');

/** Whose bytes they are is known: everybody whom it is for. */
function expectMessage(visiting: Visiting, session: Session, { to, place }: State): Expected {
  const isReport = [...to.values()].some(({ destination }) => destination.kind === 'report');
  const mostBytes = isReport ? arrivalLimits.reportBytes : arrivalLimits.bytes;
  const orgs = new Set([...to.values()].map(({ destination }) => destination.org));
  const held = visiting.held.open({ org: [...orgs], address: place });
  const deadline = session.cutAfter(visiting.times.messageMs, 'the message did not arrive in time');
  return {
    mostBytes,
    gatheredBytes: isReport ? mostBytes : gatheredBytes,
    hold: held.reserve,
    end: () => {
      clearTimeout(deadline);
      held.release();
    },
  };
}

/** Whether we take mail for this address, and where it goes: decided now, so that nobody must send a report back later. */
async function addRecipient({ book, reception }: Visiting, { to, bytes, place }: State, written: string): Promise<void> {
  const read = readAddress(written);
  if (read instanceof Unusable) throw new Reply(553, '5.1.3', `the recipient ${read.why}`);
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
  // To the message there is one answer: who has no room must not keep it from the others whom it is for.
  if (destination.kind === 'route' && (await reception.isFull(destination.org, bytes, place)))
    throw new Reply(452, '4.2.2', 'there is no room left for mail to this recipient; try again later');
  to.set(folded, { address, destination });
}

async function takeMessage(visiting: Visiting, session: Session, state: State, message: Message): Promise<string> {
  const to = groupByRoute([...state.to.values()]);
  const { org } = to[0]!.destination;
  const { cipher } = session;
  const tls = cipher ? showable(`${cipher.version ?? ''} ${cipher.name ?? ''}`, 100) : null;
  const envelope = {
    ...{ mailFrom: state.mailFrom, remoteIp: addressOfPeer(session.socket), tls },
    helo: showable(session.helo ?? '', 255),
  };
  const id = await runFor(
    { org, operation: 'mail that arrives' },
    () => receiveMessage(visiting, { envelope, destinations: to, session: session.id, sender: state.place }, message),
    visiting.app.watch,
  );
  clearTimeout(state.timer);
  if (!state.isOver) state.timer = cutVisit(visiting, session);
  return `2.0.0 Ok: ${id}`;
}

/** One for each route: it has an endpoint of its own. */
function groupByRoute(all: readonly { address: string; destination: Known }[]) {
  const groups = new Map<string, { destination: Known; addresses: string[] }>();
  for (const { address, destination } of all) {
    const name = destination.kind === 'route' ? destination.routeId : address;
    const group = groups.get(name) ?? { destination, addresses: [] };
    group.addresses.push(address);
    groups.set(name, group);
  }
  return [...groups.values()];
}
