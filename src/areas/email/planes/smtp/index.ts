import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import type { SMTPServerAddress, SMTPServerAuthentication, SMTPServerDataStream, SMTPServerSession } from 'smtp-server';
import type { Principals } from '../../../../identity/principal.ts';
import { type Certificate, followConfigured, keepCertificate, readConfigured } from '../../../../kernel/certificate.ts';
import { exitCodes, Refusal, Stop } from '../../../../kernel/errors.ts';
import { asCaller } from '../../../../kernel/http/peer.ts';
import { makeTurnstile, onBehalf } from '../../../../kernel/shares/index.ts';
import { readAddress, Unusable } from '../../rules/address.ts';
import { foldAddress } from '../../rules/envelope.ts';
import { limits } from '../../rules/limits.ts';
import { type Crowd, makeCrowd } from './crowd.ts';
import { type Login, type Logins, makeLogins } from './logins.ts';
import { largeShares, type Receiving, receiveMessage } from './receive.ts';
import { Reply, replyFor } from './replies.ts';
import { type SubmissionConnection, SubmissionServer } from './server.ts';

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
    return { ports: await Promise.all(servers.map((server, i) => listen(server, places[i]!))), stop };
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
    // The library's callbacks hand over, and do nothing themselves: what they throw would end the process.
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
  const server = new SubmissionServer(options as never, { connections, placeOf });
  server.on('error', (err) => app.log.debug({ err }, 'a connection at the SMTP door failed'));

  function handOver<T>(work: () => Promise<T>, answer: Answer): void {
    work()
      .then(
        (given) => answer(null, given),
        (error: unknown) => {
          if (!(error instanceof Reply || error instanceof Refusal || isGone(error)))
            app.log.error({ err: error }, 'mail was not taken in at the SMTP door');
          answer(replyFor(error));
        },
      )
      .catch((err: unknown) => app.log.error({ err }, 'the SMTP door could not answer'));
  }
  return server;
}

/** The client closed the connection while it sent its message: nobody is left to tell. */
const isGone = (error: unknown) => ['ERR_STREAM_PREMATURE_CLOSE', 'ECONNECTION'].includes((error as NodeJS.ErrnoException).code ?? '');

type Answer = (error: Error | null, given?: unknown) => void;

interface Visit {
  login: Login | undefined;
  wrong: number;
  timer: NodeJS.Timeout;
}

/** One visit a connection: who it is, and what it may do next. */
function makeVisits(door: Door, logins: Logins) {
  const visits = new WeakMap<SubmissionConnection, Visit>();
  const cutAfter = (connection: SubmissionConnection, ms: number, why: string) =>
    setTimeout(() => connection.send(421, `4.4.2 ${why}`), ms).unref();
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
        drainRest(connection, stream);
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

/** A refused message is read to its end, so that its client hears why; one that does not end is cut off. */
function drainRest(connection: SubmissionConnection, stream: SMTPServerDataStream): void {
  let left = drainedBytes;
  stream.on('data', (piece: Buffer) => {
    left -= piece.length;
    if (left < 0) connection.send(421, '4.3.4 the message does not end');
  });
  stream.resume();
}

async function listen(server: SubmissionServer, { host, port }: { host: string; port: number }): Promise<number> {
  server.listen(port, host);
  await once(server.server, 'listening').catch((error: NodeJS.ErrnoException) => {
    throw new Stop(
      exitCodes.portTaken,
      `cannot take mail in on ${host}:${port} (${error.code}); set QUARTERDECK_SMTP_SUBMISSION and QUARTERDECK_SMTPS to other addresses`,
    );
  });
  return (server.server.address() as AddressInfo).port;
}

/** Those who wait for nothing are told at once; what is under way may finish. */
const closeServer = (server: SubmissionServer): Promise<void> =>
  new Promise((resolve) => {
    server.close(() => resolve());
    for (const connection of server.connections)
      if (!connection._handlerPending && !connection._dataStream) connection.send(421, '4.3.2 the server stops; come again in a moment');
  });
