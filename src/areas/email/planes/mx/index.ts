import type { Socket } from 'node:net';
import { rateLimit } from '../../../../identity/rate-limit.ts';
import type { App } from '../../../../kernel/app.ts';
import { followConfigured, keepCertificate, readConfigured } from '../../../../kernel/certificate.ts';
import { makeByteBudget, makeFairSemaphore, makeKeyedLimit } from '../../../../kernel/fairness/index.ts';
import { asCaller } from '../../../../kernel/http/peer.ts';
import { makeConnectionSlots, makeSmtpServer } from '../../../../kernel/smtp/index.ts';
import type { DestinationLookup } from '../../engine/receiving/book.ts';
import type { InboundIntake } from '../../engine/receiving/intake.ts';
import { arrivalLimits } from '../../rules/receiving.ts';
import { openVisit, type VisitTimes, visitTimes } from './visits.ts';

export interface MxDoor {
  app: App;
  book: DestinationLookup;
  reception: InboundIntake;
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
  /** Of one connection since its last message that was taken. */
  commands: 500,
  /** Recipients and messages refused to one address in a minute: whoever guesses names is sent away. */
  errorsOfAddress: 200,
  /** Gathered in memory at once, in all, for an organization, and of an address. */
  bytes: { all: 32 * 2 ** 20, org: 16 * 2 ** 20, address: 4 * 2 ** 20 },
};
const largeShares = { slots: 32, perOrg: 4, waitMs: 150_000 };
const largeOfAddress = 2;
const times = {
  /** Without a byte from the other side: RFC 5321, 4.5.3.2.7. */
  idleMs: 5 * 60_000,
  /** Who talks before that does not wait for an answer, and is sent away. */
  greetAfterMs: 100,
  /** What is under way when we stop may take this long. */
  stopMs: 10_000,
};

/** Takes in what other mail servers deliver. */
export async function openMxDoor(door: MxDoor): Promise<OpenMxDoor> {
  const { app, mailHost } = door;
  const { config, log } = app;
  const certificate = config.tls_cert ? readConfigured(config) : await keepCertificate(config.data, mailHost);
  const placeOf = (socket: Socket) => app.peers.of(asCaller(socket));
  const open = openVisit({
    ...door,
    placeOf,
    large: makeFairSemaphore({ ...largeShares, onRefused: app.refusals.of('large mail that arrives') }),
    largeOf: makeKeyedLimit({ each: largeOfAddress, all: Number.POSITIVE_INFINITY }),
    held: makeByteBudget({
      total: most.bytes.all,
      maxPerHolder: { org: most.bytes.org, credential: 0, address: most.bytes.address },
      maxShareOfFree: { address: 1 / 2 },
    }),
    pace: rateLimit(config.smtp_inbound_rate * 60, undefined, config.smtp_inbound_rate * 2),
    errors: rateLimit(most.errorsOfAddress),
    times: { ...visitTimes, ...door.times },
  });
  const server = makeSmtpServer({
    ...{
      certificate,
      log,
      door: 'mx',
      name: mailHost,
      mostBytes: arrivalLimits.bytes,
      placeOf,
      ...times,
      mostCommands: most.commands,
      isSecure: false,
    },
    room: makeConnectionSlots({ each: most.connectionsOfAddress, all: most.connections }),
    open,
  });
  const unfollow = followConfigured(config, log, (renewed) => server.renew(renewed));
  const stop = async () => {
    unfollow();
    await server.stop();
  };
  try {
    return { port: await server.listen(config.smtp_inbound, 'QUARTERDECK_SMTP_INBOUND'), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
