import type { Socket } from 'node:net';
import type { SMTPServerAddress, SMTPServerAuthentication, SMTPServerDataStream, SMTPServerSession } from 'smtp-server';
import type { Principals } from '../../../../identity/principal.ts';
import { type Certificate, followConfigured, keepCertificate, readConfigured } from '../../../../kernel/certificate.ts';
import { Refusal } from '../../../../kernel/errors.ts';
import { asCaller } from '../../../../kernel/http/peer.ts';
import { type Crowd, makeCrowd, makeTurnstile, onBehalf } from '../../../../kernel/shares/index.ts';
import {
  type Answer,
  CountedServer,
  closeServer,
  cutAfter,
  drainRest,
  handOver as handOverTo,
  listenAt,
  Reply,
  replyFor,
} from '../../../../kernel/smtp/index.ts';
import { readAddress, Unusable } from '../../rules/address.ts';
import { foldAddress } from '../../rules/envelope.ts';
import { limits } from '../../rules/limits.ts';
import { type Login, type Logins, makeLogins } from './logins.ts';
import { largeShares, type Receiving, receiveMessage } from './receive.ts';
import { SubmissionConnection, type SubmissionServer } from './server.ts';

export interface SmtpDoor extends Omit<Receiving, 'large'> {
  principals: Principals;
  /** The name by which we greet. */
  mailHost: string;
}

export interface OpenDoor {
  /** Where it listens, in the order of `smtp_submission` and `smtps`. */
  ports: number[];
  stop(): Promise<void>;
}

/** Counted over both ports. */
const most = { connectionsOfAddress: 100, connections: 1_000, wrongLogins: 3 };
const times = {
  /** Without a byte from the other side. */
  idleMs: 5 * 60_000,
  /** A connection that has not logged in by then is closed. */
  loginMs: 60_000,
  /** The whole of one message. */
  messageMs: 10 * 60_000,
  /** What is under way when we stop may take this long. */
  closeMs: 10_000,
};
/** What is read of a message that was refused, before its connection is cut. */
const drainedBytes = 2 * limits.bytes;

/** Takes mail in by SMTP: with STARTTLS on one port, with TLS from the first byte on another. */
export async function openSmtpDoor(door: SmtpDoor): Promise<OpenDoor> {
  const { config, log } = door.app;
  const certificate = config.tls_cert ? readConfigured(config) : await keepCertificate(config.data, door.mailHost);
  const connections = makeCrowd({ each: most.connectionsOfAddress, all: most.connections });
  const logins = makeLogins(door.app, door.principals);
  const large = makeTurnstile({ ...largeShares, refused: door.app.refusals.of('large mail') });
  const servers = [false, true].map((secure) => makeServer({ ...door, large }, { secure, certificate, connections, logins }));
  const unfollow = followConfigured(config, log, (renewed) => servers.forEach((server) => void server.updateSecureContext({ ...renewed })));
  const stop = async () => {
    unfollow();
    await Promise.all(servers.map(closeServer));
  };
  try {
    const places = [config.smtp_submission, config.smtps];
    const settings = 'QUARTERDECK_SMTP_SUBMISSION or QUARTERDECK_SMTPS';
    return { ports: await Promise.all(servers.map((server, i) => listenAt(server, places[i]!, settings))), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

type Door = SmtpDoor & Receiving;

interface Shared {
  secure: boolean;
  certificate: Certificate;
  connections: Crowd;
  logins: Logins;
}

function makeServer(door: Door, { secure, certificate, connections, logins }: Shared): SubmissionServer {
  const { app } = door;
  const visits = makeVisits(door, logins);
  const handOver = <T>(work: () => Promise<T>, answer: Answer) => handOverTo(app.log, 'submission', work, answer);
  const options = {
    ...certificate,
    minVersion: 'TLSv1.2' as const,
    secure,
    name: door.mailHost,
    banner: 'Quarterdeck',
    logger: false as const,
    size: limits.bytes,
    rejectOversized: true,
    maxRecipients: limits.recipients,
    authMethods: ['PLAIN', 'LOGIN'],
    allowInsecureAuth: true, // judged by the connection: only on this machine
    authRequiredMessage: '5.7.0 log in first: the user name is the send key’s keyId, the password its secret',
    disabledCommands: ['WIZ', 'SHELL', 'KILL', 'XCLIENT', 'XFORWARD'],
    disableReverseLookup: true,
    hideENHANCEDSTATUSCODES: false,
    hideSMTPUTF8: true,
    socketTimeout: times.idleMs,
    closeTimeout: times.closeMs,
    maxAllowedUnauthenticatedCommands: 20,
    onConnect: (session: SMTPServerSession, callback: Answer) => handOver(() => visits.begin(server.connectionOf(session)), callback),
    onAuth: (auth: SMTPServerAuthentication, session: SMTPServerSession, callback: Answer) =>
      handOver(() => visits.logIn(server.connectionOf(session), auth), callback),
    onMailFrom: (sender: SMTPServerAddress, session: SMTPServerSession, callback: Answer) =>
      handOver(() => visits.beginMessage(server.connectionOf(session), sender), callback),
    onRcptTo: ({ address }: SMTPServerAddress, _: SMTPServerSession, callback: Answer) =>
      handOver(async () => checkRecipient(address), callback),
    onData: (stream: SMTPServerDataStream, session: SMTPServerSession, callback: Answer) =>
      handOver(() => visits.takeMessage(server.connectionOf(session), stream), callback),
    onClose: (session: SMTPServerSession) => visits.end(server.connectionOf(session)),
  };
  const placeOf = (socket: Socket) => app.peers.of(asCaller(socket));
  const server: SubmissionServer = new CountedServer(options as never, { connections, placeOf }, SubmissionConnection);
  server.on('error', (err) => app.log.debug({ err }, 'a connection at the SMTP door failed'));

  return server;
}

interface Visit {
  login: Login | undefined;
  wrong: number;
  timer: NodeJS.Timeout;
}

/** One visit a connection: who it is, and what it may do next. */
function makeVisits(door: Door, logins: Logins) {
  const visits = new WeakMap<SubmissionConnection, Visit>();
  const loginOf = (connection: SubmissionConnection): Login => {
    const login = visits.get(connection)?.login;
    // Whoever began in the clear and then said STARTTLS is nobody again: RFC 3207, 4.2.
    if (!login || !connection.session.user) throw new Reply(530, '5.7.0', 'log in first');
    return login;
  };
  return {
    begin: async (connection: SubmissionConnection) => {
      visits.set(connection, { login: undefined, wrong: 0, timer: cutAfter(connection, times.loginMs, 'nobody logged in; come again') });
    },
    logIn: async (connection: SubmissionConnection, { username, password }: SMTPServerAuthentication) => {
      const visit = visits.get(connection)!;
      try {
        const login = await logins.logIn(connection, { username: username ?? '', password: password ?? '' });
        visit.login?.leave();
        visit.login = login;
        clearTimeout(visit.timer);
        if (connection._closed) login.leave();
        return { user: (await login.principal()).id };
      } catch (error) {
        throw refuseLogin(visit, error);
      }
    },
    beginMessage: async (connection: SubmissionConnection, { args }: SMTPServerAddress) => {
      const login = loginOf(connection);
      if (args && 'SMTPUTF8' in args)
        throw new Reply(550, '5.6.7', 'SMTPUTF8 is not offered: write domains in ASCII, and headers as RFC 2047 has them');
      await login.takeTurn();
      await login.principal();
    },
    takeMessage: async (connection: SubmissionConnection, stream: SMTPServerDataStream) => {
      const deadline = cutAfter(connection, times.messageMs, 'the message did not arrive in time');
      try {
        const principal = await loginOf(connection).principal();
        const envelope = envelopeOf(connection.session);
        const id = await onBehalf(
          { org: principal.org.id, act: 'smtp submission' },
          () => receiveMessage(door, principal, envelope, stream),
          door.app.watch,
        );
        return `2.0.0 Ok: queued as ${id}`;
      } finally {
        clearTimeout(deadline);
        drainRest(connection, stream, drainedBytes);
      }
    },
    end: (connection: SubmissionConnection) => {
      const visit = visits.get(connection);
      clearTimeout(visit?.timer);
      visit?.login?.leave();
    },
  };
}

/** A wrong login in the words of RFC 4954; whoever guesses is sent away. */
function refuseLogin(visit: Visit, error: unknown): Reply {
  const isOfHouse = error instanceof Refusal;
  if (isOfHouse && error.status === 429) return new Reply(421, '4.7.0', error.message);
  if (isOfHouse && error.status === 403) return new Reply(535, '5.7.8', error.message);
  const reply = replyFor(error);
  if (reply.responseCode !== 535 || ++visit.wrong < most.wrongLogins) return reply;
  return new Reply(421, '4.7.0', 'too many wrong logins; come again with the right one');
}

/** Whom it goes to: each once, domains in ASCII. */
function envelopeOf({ envelope }: SMTPServerSession): string[] {
  const addresses = envelope.rcptTo.map(({ address }) => checkRecipient(address));
  return [...new Map(addresses.map((address) => [foldAddress(address), address])).values()];
}

function checkRecipient(written: string): string {
  const read = readAddress(written);
  if (read instanceof Unusable) throw new Reply(553, '5.1.3', `the recipient ${read.why}`);
  return read.address;
}
