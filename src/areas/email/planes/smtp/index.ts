import type { Socket } from 'node:net';
import type { Principals } from '../../../../identity/principal.ts';
import { followConfigured, keepCertificate, readConfigured } from '../../../../kernel/certificate.ts';
import { makeByteBudget, makeFairSemaphore } from '../../../../kernel/fairness/index.ts';
import { asCaller } from '../../../../kernel/http/peer.ts';
import { makeConnectionSlots, makeSmtpServer } from '../../../../kernel/smtp/index.ts';
import { limits } from '../../rules/limits.ts';
import { makeLogins } from './logins.ts';
import { largeShares, type Receiving } from './receive.ts';
import { openVisit } from './visit.ts';

export interface SmtpDoor extends Omit<Receiving, 'large' | 'held'> {
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
const most = { connectionsOfAddress: 100, connections: 1_000 };
const times = {
  /** Without a byte from the other side. */
  idleMs: 5 * 60_000,
  /** What is under way when we stop may take this long. */
  stopMs: 10_000,
};

/**
 * Of mail that is gathered. It is apart from the bodies of requests, and nobody has more than half of what is left of it: a message may take
 * ten minutes to come, and a few organizations that send theirs so slowly must not keep out an alert, nor the mail of others.
 */
function heldShares(mebibytes: number) {
  const total = mebibytes * 2 ** 19;
  return { total, maxPerHolder: { org: total, credential: 0, address: 0 }, maxShareOfFree: { org: 1 / 2 } };
}

/** Takes mail in by SMTP: with STARTTLS on one port, with TLS from the first byte on another. */
export async function openSmtpDoor(door: SmtpDoor): Promise<OpenDoor> {
  const { app, principals, mailHost } = door;
  const { config, log } = app;
  const certificate = config.tls_cert ? readConfigured(config) : await keepCertificate(config.data, mailHost);
  const logins = makeLogins(app, principals);
  const receiving = {
    ...door,
    large: makeFairSemaphore({ ...largeShares, onRefused: app.refusals.of('large mail') }),
    held: makeByteBudget(heldShares(config.body_memory)),
  };
  const shared = {
    ...{ certificate, log, door: 'submission', name: mailHost, mostBytes: limits.bytes, ...times },
    room: makeConnectionSlots({ each: most.connectionsOfAddress, all: most.connections }),
    placeOf: (socket: Socket) => app.peers.of(asCaller(socket)),
    greetAfterMs: 0, // whoever logs in is no stranger, and would only be slower
    mostCommands: Number.POSITIVE_INFINITY,
    open: openVisit(receiving, logins),
  };
  const servers = [false, true].map((isSecure) => makeSmtpServer({ ...shared, isSecure }));
  const unfollow = followConfigured(config, log, (renewed) => servers.forEach((server) => void server.renew(renewed)));
  const stop = async () => {
    unfollow();
    await Promise.all(servers.map((server) => server.stop()));
  };
  try {
    const places = [config.smtp_submission, config.smtps];
    const settings = 'QUARTERDECK_SMTP_SUBMISSION or QUARTERDECK_SMTPS';
    return { ports: await Promise.all(servers.map((server, i) => server.listen(places[i]!, settings))), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
