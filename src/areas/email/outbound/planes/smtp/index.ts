import type { Socket } from 'node:net';
import type { Principals } from '../../../../../identity/principal.ts';
import { makeByteBudget, makeFairSemaphore } from '../../../../../kernel/fairness/index.ts';
import { asCaller } from '../../../../../kernel/http/peer.ts';
import { makeConnectionSlots, makeSmtpServer } from '../../../../../kernel/smtp/index.ts';
import { loadOrCreateCertificate } from '../../../../../kernel/x509/certificate.ts';
import { limits } from '../../../rules/limits.ts';
import { makeLogins } from './logins.ts';
import { largeMessageLimits, type SubmissionContext } from './receive.ts';
import { openSubmissionSession } from './session.ts';

export interface SubmissionServerOptions extends Omit<SubmissionContext, 'largeMessages' | 'memoryBudget'> {
  principals: Principals;
  /** The host name in the greeting. */
  mailHost: string;
}

export interface SubmissionServer {
  /** In the order of `smtp_submission` and `smtps`. */
  ports: number[];
  /** Messages in flight have this long. */
  stop(limitMs: number): Promise<void>;
}

/** Both ports share these limits. */
const connectionLimits = { connectionsPerAddress: 100, connections: 1_000 };
const timeouts = {
  /** Without a byte from the client. */
  idleMs: 5 * 60_000,
};

/**
 * Memory for messages that are being received, separate from HTTP request bodies. An organization gets at most half of the free part.
 * A message may take ten minutes to arrive, so a few slow organizations must not block alerts or other tenants' mail.
 */
function memoryLimits(mebibytes: number) {
  const total = mebibytes * 2 ** 19;
  return { total, maxPerHolder: { org: total, credential: 0, address: 0 }, maxShareOfFree: { org: 1 / 2 } };
}

/** Accepts mail from programs by SMTP: STARTTLS on one port, implicit TLS on the other. */
export async function startSubmissionServer(options: SubmissionServerOptions): Promise<SubmissionServer> {
  const { app, principals, mailHost } = options;
  const { config, log } = app;
  const tls = await app.presented.open(mailHost, () => loadOrCreateCertificate(config.data, mailHost));
  const logins = makeLogins(app, principals);
  const receiving = {
    ...options,
    largeMessages: makeFairSemaphore({ ...largeMessageLimits, onRefused: app.refusals.of('large mail') }),
    memoryBudget: makeByteBudget(memoryLimits(config.body_memory)),
  };
  const shared = {
    tls,
    log,
    sockets: app.sockets,
    door: 'submission',
    name: mailHost,
    mostBytes: limits.bytes,
    ...timeouts,
    room: makeConnectionSlots({ each: connectionLimits.connectionsPerAddress, all: connectionLimits.connections }),
    placeOf: (socket: Socket) => app.peers.of(asCaller(socket)),
    greetAfterMs: 0, // clients must log in, so an early-talker check only slows them down
    mostCommands: Number.POSITIVE_INFINITY,
    open: openSubmissionSession(receiving, logins),
  };
  const servers = [false, true].map((isSecure) => makeSmtpServer({ ...shared, isSecure }));
  const stop = async (limitMs: number) => {
    tls.stop();
    await Promise.all(servers.map((server) => server.stop(limitMs)));
  };
  try {
    const addresses = [config.smtp_submission, config.smtps];
    const settings = 'QUARTERDECK_SMTP_SUBMISSION or QUARTERDECK_SMTPS';
    return { ports: await Promise.all(servers.map((server, i) => server.listen(addresses[i]!, settings))), stop };
  } catch (error) {
    await stop(0);
    throw error;
  }
}
