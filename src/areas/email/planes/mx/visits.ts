import type { Socket } from 'node:net';
import type { SMTPServerAddress, SMTPServerDataStream } from 'smtp-server';
import type { RateLimit } from '../../../../identity/rate-limit.ts';
import { addressOfPeer } from '../../../../kernel/http/peer.ts';
import { type ByteBudget, onBehalf } from '../../../../kernel/shares/index.ts';
import { cutAfter, drainRest, Reply } from '../../../../kernel/smtp/index.ts';
import type { Destination, DestinationBook } from '../../engine/receiving/book.ts';
import { readAddress, Unusable } from '../../rules/address.ts';
import { foldAddress } from '../../rules/envelope.ts';
import { showable } from '../../rules/header.ts';
import { arrivalLimits } from '../../rules/receiving.ts';
import { type Receiving, receiveMessage } from './receive.ts';
import type { MxConnection } from './server.ts';

export interface Visiting extends Receiving {
  book: DestinationBook;
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
/** What is read of a message that was refused, before its connection is cut. */
const drainedBytes = 2 * arrivalLimits.bytes;

type Known = Extract<Destination, { org: string }>;

interface Visit {
  place: string;
  errors: number;
  timer: NodeJS.Timeout;
  /** Who has left may have left a message that is still being taken. */
  isOver: boolean;
  mailFrom: string;
  /** By the folded address, what was decided at RCPT. */
  to: Map<string, { address: string; destination: Known }>;
}

/** One visit a connection: from whom, for whom, and how much of it there may be. */
export function makeVisits(visiting: Visiting) {
  const visits = new WeakMap<MxConnection, Visit>();

  /** Refusals are counted by connection and by address, whatever they are about. */
  const refuse = (visit: Visit, reply: Reply): Reply => {
    visit.errors++;
    const { allowed } = visiting.errors.take(visit.place);
    if (visit.errors < mostErrors && allowed) return reply;
    return new Reply(421, '4.7.0', 'too much was refused to you; come again later');
  };
  const counting = async <T>(connection: MxConnection, act: (visit: Visit) => Promise<T>): Promise<T> => {
    const visit = visits.get(connection)!;
    try {
      return await act(visit);
    } catch (error) {
      throw error instanceof Reply && error.responseCode >= 500 ? refuse(visit, error) : error;
    }
  };
  return {
    begin: async (connection: MxConnection) => {
      const place = visiting.placeOf(connection._socket);
      if (visiting.errors.left(place) < 1) throw new Reply(421, '4.7.0', 'too much was refused to you; come again later');
      const timer = cutVisit(visiting, connection);
      visits.set(connection, { place, errors: 0, timer, isOver: false, mailFrom: '', to: new Map() });
    },
    beginMessage: (connection: MxConnection, { address, args }: SMTPServerAddress) =>
      counting(connection, async (visit) => {
        if (args && 'SMTPUTF8' in args) throw new Reply(550, '5.6.7', 'SMTPUTF8 is not offered');
        const { allowed } = visiting.pace.take(visit.place);
        if (!allowed) throw new Reply(451, '4.7.1', 'you deliver more messages a second than we take from one address; slow down');
        visit.mailFrom = showable(String(address ?? ''), 320);
        visit.to = new Map();
      }),
    addRecipient: (connection: MxConnection, { address }: SMTPServerAddress) =>
      counting(connection, (visit) => addRecipient(visiting, visit, address)),
    takeMessage: (connection: MxConnection, stream: SMTPServerDataStream) => {
      const deadline = cutAfter(connection, visiting.times.messageMs, 'the message did not arrive in time');
      return counting(connection, (visit) => takeMessage(visiting, connection, visit, stream)).finally(() => {
        clearTimeout(deadline);
        drainRest(connection, stream, drainedBytes);
      });
    },
    end: (connection: MxConnection) => {
      const visit = visits.get(connection);
      if (!visit) return;
      visit.isOver = true;
      clearTimeout(visit.timer);
    },
  };
}

const cutVisit = ({ times }: Visiting, connection: MxConnection) =>
  cutAfter(connection, times.visitMs, 'this has taken long enough; come again');

/** Whether we take mail for this address, and where it goes: decided now, so that nobody must send a report back later. */
async function addRecipient({ book, reception }: Visiting, visit: Visit, written: string): Promise<void> {
  const read = readAddress(written);
  if (read instanceof Unusable) throw new Reply(553, '5.1.3', `the recipient ${read.why}`);
  const { address, domain } = read;
  const destination = await book.find(address.slice(0, -domain.length - 1), domain);
  if (destination.kind === 'foreign') throw new Reply(550, '5.7.1', 'we do not receive mail for this domain, and relay for nobody');
  if (destination.kind === 'unknown') throw new Reply(550, '5.1.1', 'there is no such recipient here');
  if (destination.kind === 'unproven')
    throw new Reply(450, '4.7.1', 'the owner of this domain has not published all of its records yet; try again later');
  const others = [...visit.to.values()];
  if (destination.kind === 'report' ? others.length > 0 : others.some((other) => other.destination.kind === 'report'))
    throw new Reply(452, '4.5.3', 'a report has one recipient; send it to the others apart');
  if (destination.kind === 'route' && reception.isFull(destination.org))
    throw new Reply(452, '4.2.2', 'there is no room left for mail to this recipient; try again later');
  visit.to.set(foldAddress(address), { address, destination });
}

async function takeMessage(visiting: Visiting, connection: MxConnection, visit: Visit, stream: SMTPServerDataStream): Promise<string> {
  const to = groupByRoute([...visit.to.values()]);
  const { org } = to[0]!.destination;
  const { session, tlsOptions } = connection;
  const tls = tlsOptions ? showable(`${tlsOptions.version ?? ''} ${tlsOptions.name ?? ''}`, 100) : null;
  const envelope = {
    ...{ mailFrom: visit.mailFrom, remoteIp: addressOfPeer(connection._socket), tls },
    helo: showable(String(session.hostNameAppearsAs || ''), 255),
  };
  // Whichever organization's it is besides, it is theirs as well.
  const held = visiting.held.open({ org: [...new Set(to.map(({ destination }) => destination.org))], address: visit.place });
  try {
    const id = await onBehalf(
      { org, act: 'mail that arrives' },
      () => receiveMessage(visiting, { envelope, to, session: session.id, place: visit.place }, held, stream),
      visiting.app.watch,
    );
    connection.startAnew();
    clearTimeout(visit.timer);
    if (!visit.isOver) visit.timer = cutVisit(visiting, connection);
    return `2.0.0 Ok: ${id}`;
  } finally {
    held.end();
  }
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
