import type { Socket } from 'node:net';
import { rateLimit } from '../../../../../identity/rate-limit.ts';
import type { App } from '../../../../../kernel/app.ts';
import { makeByteBudget, makeFairSemaphore, makeKeyedLimit } from '../../../../../kernel/fairness/index.ts';
import { asCaller } from '../../../../../kernel/http/peer.ts';
import { makeConnectionSlots, makeSmtpServer } from '../../../../../kernel/smtp/index.ts';
import { loadOrCreateCertificate } from '../../../../../kernel/x509/certificate.ts';
import type { DestinationLookup } from '../../engine/destinations.ts';
import type { InboundIntake } from '../../engine/intake.ts';
import { arrivalLimits } from '../../rules/receiving.ts';
import { defaultTimeouts, openMxSession, type SessionTimeouts } from './session.ts';

export interface MxServerOptions {
  app: App;
  book: DestinationLookup;
  reception: InboundIntake;
  /** The host name in the greeting. */
  mailHost: string;
  /** Tests shorten these. */
  timeouts?: Partial<SessionTimeouts>;
}

export interface MxServer {
  port: number;
  /** Messages in flight have this long. */
  stop(limitMs: number): Promise<void>;
}

const limits = {
  connectionsPerAddress: 20,
  connections: 500,
  /** Commands of one connection since its last accepted message. */
  commands: 500,
  /** An address that guesses recipients is disconnected after this many refusals. */
  refusalsPerAddressPerMinute: 200,
  /** Message bytes in memory at once. */
  bytes: { all: 32 * 2 ** 20, org: 16 * 2 ** 20, address: 4 * 2 ** 20 },
};
const largeMessageLimits = { slots: 32, perOrg: 4, waitMs: 150_000 };
const maxLargeMessagesPerAddress = 2;
const timeouts = {
  /** Without a byte from the client: RFC 5321, 4.5.3.2.7. */
  idleMs: 5 * 60_000,
  /** A client that talks before the greeting does not wait for answers, and is disconnected. */
  greetAfterMs: 100,
};

/** Accepts mail from other mail servers on the MX port. */
export async function startMxServer(options: MxServerOptions): Promise<MxServer> {
  const { app, mailHost } = options;
  const { config, log } = app;
  const tls = await app.presented.open(mailHost, () => loadOrCreateCertificate(config.data, mailHost));
  const placeOf = (socket: Socket) => app.peers.of(asCaller(socket));
  const open = openMxSession({
    ...options,
    peerOf: placeOf,
    largeMessages: makeFairSemaphore({ ...largeMessageLimits, onRefused: app.refusals.of('large mail that arrives') }),
    largeMessagesPerAddress: makeKeyedLimit({ each: maxLargeMessagesPerAddress, all: Number.POSITIVE_INFINITY }),
    memoryBudget: makeByteBudget({
      total: limits.bytes.all,
      maxPerHolder: { org: limits.bytes.org, credential: 0, address: limits.bytes.address },
      maxShareOfFree: { address: 1 / 2 },
    }),
    messageRate: rateLimit(config.smtp_inbound_rate * 60, undefined, config.smtp_inbound_rate * 2),
    refusalRate: rateLimit(limits.refusalsPerAddressPerMinute),
    times: { ...defaultTimeouts, ...options.timeouts },
  });
  const server = makeSmtpServer({
    tls,
    log,
    sockets: app.sockets,
    door: 'mx',
    name: mailHost,
    mostBytes: arrivalLimits.bytes,
    placeOf,
    ...timeouts,
    mostCommands: limits.commands,
    isSecure: false,
    room: makeConnectionSlots({ each: limits.connectionsPerAddress, all: limits.connections }),
    open,
  });
  const stop = async (limitMs: number) => {
    tls.stop();
    await server.stop(limitMs);
  };
  try {
    return { port: await server.listen(config.smtp_inbound, 'QUARTERDECK_SMTP_INBOUND'), stop };
  } catch (error) {
    await stop(0);
    throw error;
  }
}
