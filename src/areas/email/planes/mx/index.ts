import type { Socket } from 'node:net';
import type { SMTPServerAddress, SMTPServerDataStream, SMTPServerSession } from 'smtp-server';
import { rateLimit } from '../../../../identity/rate-limit.ts';
import type { App } from '../../../../kernel/app.ts';
import { followConfigured, keepCertificate, readConfigured } from '../../../../kernel/certificate.ts';
import { asCaller } from '../../../../kernel/http/peer.ts';
import { makeByteBudget, makeCrowd, makeTurnstile } from '../../../../kernel/shares/index.ts';
import { type Answer, CountedServer, closeServer, handOver as handOverTo, listenAt } from '../../../../kernel/smtp/index.ts';
import type { DestinationBook } from '../../engine/receiving/book.ts';
import type { Reception } from '../../engine/receiving/intake.ts';
import { arrivalLimits } from '../../rules/receiving.ts';
import { MxConnection } from './server.ts';
import { makeVisits, type VisitTimes, visitTimes } from './visits.ts';

export interface MxDoor {
  app: App;
  book: DestinationBook;
  reception: Reception;
  /** The name by which we greet. */
  mailHost: string;
  /** For tests: how patient we are. */
  times?: Partial<VisitTimes>;
}

export interface OpenMxDoor {
  port: number;
  stop(): Promise<void>;
}

const most = {
  connectionsOfAddress: 20,
  connections: 500,
  /** Recipients and messages refused to one address in a minute: whoever guesses names is sent away. */
  errorsOfAddress: 200,
  /** Gathered in memory at once, in all, for an organization, and of an address. */
  bytes: { all: 32 * 2 ** 20, org: 16 * 2 ** 20, address: 4 * 2 ** 20 },
};
const largeShares = { slots: 16, perOrg: 8, waitMs: 150_000 };
const largeOfAddress = 2;
const times = {
  /** Without a byte from the other side: RFC 5321, 4.5.3.2.7. */
  idleMs: 5 * 60_000,
  /** What is under way when we stop may take this long. */
  closeMs: 10_000,
};

/** Takes in what other mail servers deliver. */
export async function openMxDoor(door: MxDoor): Promise<OpenMxDoor> {
  const { app, mailHost } = door;
  const { config, log } = app;
  const certificate = config.tls_cert ? readConfigured(config) : await keepCertificate(config.data, mailHost);
  const placeOf = (socket: Socket) => app.peers.of(asCaller(socket));
  const visits = makeVisits({
    ...door,
    placeOf,
    large: makeTurnstile({ ...largeShares, refused: app.refusals.of('large mail that arrives') }),
    largeOf: makeCrowd({ each: largeOfAddress, all: Number.POSITIVE_INFINITY }),
    held: makeByteBudget({
      total: most.bytes.all,
      most: { org: most.bytes.org, credential: 0, address: most.bytes.address },
      leaving: ['address'],
    }),
    pace: rateLimit(config.smtp_inbound_rate * 60, undefined, config.smtp_inbound_rate * 2),
    errors: rateLimit(most.errorsOfAddress),
    times: { ...visitTimes, ...door.times },
  });
  const handOver = <T>(work: () => Promise<T>, answer: Answer) => handOverTo(log, 'mx', work, answer);
  const of = (session: SMTPServerSession): MxConnection => server.connectionOf(session);
  const options = {
    ...certificate,
    minVersion: 'TLSv1.2' as const,
    name: mailHost,
    banner: 'Quarterdeck',
    logger: false as const,
    size: arrivalLimits.bytes,
    rejectOversized: true,
    maxRecipients: arrivalLimits.recipients,
    authOptional: true,
    disabledCommands: ['AUTH', 'WIZ', 'SHELL', 'KILL', 'XCLIENT', 'XFORWARD'],
    disableReverseLookup: true,
    hideENHANCEDSTATUSCODES: false,
    hideSMTPUTF8: true,
    socketTimeout: times.idleMs,
    closeTimeout: times.closeMs,
    onConnect: (session: SMTPServerSession, answer: Answer) => handOver(() => visits.begin(of(session)), answer),
    onMailFrom: (sender: SMTPServerAddress, session: SMTPServerSession, answer: Answer) =>
      handOver(() => visits.beginMessage(of(session), sender), answer),
    onRcptTo: (recipient: SMTPServerAddress, session: SMTPServerSession, answer: Answer) =>
      handOver(() => visits.addRecipient(of(session), recipient), answer),
    onData: (stream: SMTPServerDataStream, session: SMTPServerSession, answer: Answer) =>
      handOver(() => visits.takeMessage(of(session), stream), answer),
    onClose: (session: SMTPServerSession) => visits.end(of(session)),
  };
  const connections = makeCrowd({ each: most.connectionsOfAddress, all: most.connections });
  const server: CountedServer<MxConnection> = new CountedServer(options as never, { connections, placeOf }, MxConnection);
  server.on('error', (err) => log.debug({ err }, 'a connection at the MX door failed'));
  const unfollow = followConfigured(config, log, (renewed) => void server.updateSecureContext({ ...renewed }));
  const stop = async () => {
    unfollow();
    await closeServer(server);
  };
  try {
    return { port: await listenAt(server, config.smtp_inbound, 'QUARTERDECK_SMTP_INBOUND'), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
