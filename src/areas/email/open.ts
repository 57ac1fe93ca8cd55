import { type LastUsed, makeLastUsed } from '../../identity/last-used.ts';
import { rateLimit } from '../../identity/rate-limit.ts';
import type { App } from '../../kernel/app.ts';
import { readNodeId } from '../../kernel/data/node.ts';
import { makeOperatorGuard } from '../../kernel/guard/index.ts';
import type { Ending } from '../../kernel/lifecycle/ending.ts';
import { makeSpool, type Spool } from '../../kernel/spool/index.ts';
import type { Host, ListeningPart, Opened, Running } from '../area.ts';
import { type DkimKeys, makeKeyMaker } from './domains/engine/dkim-keys.ts';
import { type DomainCache, makeDomainCache } from './domains/engine/domain-cache.ts';
import { mailHostOf } from './domains/engine/mail-host.ts';
import { maxOpenMs, runDirectoryUploads, runSegmentUploads, segmentFolder, segmentPrefix } from './engine/segments.ts';
import { makeDestinationLookup } from './inbound/engine/destinations.ts';
import { type ArrivalReader, noArrivalReader, startArrivalReader } from './inbound/engine/index.ts';
import { openInboundIntake } from './inbound/engine/intake.ts';
import { startMxServer } from './inbound/planes/mx/index.ts';
import { type Counters, makeCounters, measure } from './metrics.ts';
import { makeIntake } from './outbound/engine/intake/index.ts';
import { openOwnMail } from './outbound/engine/own-mail.ts';
import { noQueue, type Queue, startQueue } from './outbound/engine/queue/index.ts';
import { openReturnPaths, type ReturnPaths } from './outbound/engine/return-path.ts';
import { makeSender } from './outbound/engine/sending/index.ts';
import { type SubmitServices, sendRate } from './outbound/engine/submit.ts';
import { resendPlane } from './outbound/planes/resend/index.ts';
import { startSubmissionServer } from './outbound/planes/smtp/index.ts';
import { touchKeys } from './outbound/store/send-keys.ts';
import { type Deliverer, makeDeliverer } from './webhooks/engine/deliver.ts';

/** State of the email area in one process. */
export interface OpenEmail extends SubmitServices {
  /** Cached domain states and signing keys. */
  domains: DomainCache;
  makeKeys: (org: string) => Promise<DkimKeys>;
  /** Last use of send keys, by id. */
  lastUsed: LastUsed;
  spool: Spool;
  /** Delivers events to webhook endpoints. */
  deliverer: Deliverer;
  /** Submission ports while the role `smtp` runs: STARTTLS, then implicit TLS. */
  smtp: { ports: number[] };
  /** MX port and arrival reader while their roles run, and the spool of received mail. */
  receiving: { port: number | undefined; readings: ArrivalReader | undefined; spool: Spool };
}

/** Outgoing connections to all sites, and a separate pool for the product's own mail, so that pages never queue behind tenants' mail. */
const maxConnections = 200;
const maxOwnMailConnections = 20;

export async function openEmail({ app, principals }: Host): Promise<Opened<OpenEmail>> {
  const folder = segmentFolder(app.config.data);
  const spool = openSpool(app, folder);
  const node = await readNodeId(app.config);
  const storing = runDirectoryUploads(app, spool, node);
  const domains = makeDomainCache(app);
  const lastUsed = makeLastUsed(app, touchKeys);
  const counters = makeCounters();
  const returnPaths = await openReturnPaths(app);
  const sending = describeSending(app, domains, returnPaths);
  const receiving = openReceiving({ app, node, spool, folder, returnPaths, counters });

  const ownSender = openSender(app, maxOwnMailConnections);
  const ownMail = await openOwnMail({ ...sending, sender: ownSender });
  app.mail.prefer(ownMail);

  const queue = makeQueueRole(async () => {
    const onOutcome = (outcome: string) => counters.outcomes.inc({ outcome });
    return startQueue({ ...sending, spool, node, folder, sender: openSender(app, maxConnections), onOutcome });
  }, receiving.startReadings);
  const intake = makeIntake({ app, spool, node, queue: () => queue.running ?? noQueue });
  const sends = rateLimit(sendRate.perSecond * 60, undefined, sendRate.burst);
  const handIn: SubmitServices = { intake, domains, sends, used: lastUsed.used };

  const smtp: OpenEmail['smtp'] = { ports: [] };
  const startServers = () =>
    startSmtpRole(smtp, () => startSubmissionServer({ app, principals, ...handIn, mailHost: sending.hostname }), receiving.startDoor);

  const deliverer = makeDeliverer(app, (outcome, count = 1) => counters.deliveries.inc({ outcome }, count));
  return {
    own: { ...handIn, domains, makeKeys: makeKeyMaker(), lastUsed, spool, deliverer, smtp, receiving: receiving.own },
    planes: [resendPlane({ app, principals, ...handIn })],
    runs: { worker: queue.start, smtp: startServers },
    metrics: (registry) =>
      measure(
        registry,
        app.db,
        counters,
        () => queue.running,
        () => receiving.own.readings,
      ),
    async stop() {
      ownMail.stop();
      await ownSender.stop(0);
      await lastUsed.stop();
      await Promise.all([storing.stop(), receiving.stop()]);
      await spool.close();
    },
  };
}

/** Messages being sent have this long when the server stops: less than its jobs, since their outcomes are stored afterwards. */
const maxSendGraceMs = 8_000;

/** The role `worker`: the sending queue, and a reader of arrived mail. */
function makeQueueRole(startQueue: () => Promise<Queue>, startReadings: () => { stop(): Promise<void> }) {
  let running: Queue | undefined;
  return {
    get running() {
      return running;
    },
    async start() {
      const queue = await startQueue();
      running = queue;
      const readings = startReadings();
      return {
        async stop({ backgroundMs }: Ending) {
          running = undefined;
          await Promise.all([readings.stop(), queue.stop(Math.min(backgroundMs, maxSendGraceMs))]);
        },
      };
    },
  };
}

/** The role `smtp`: the submission ports and the MX port. */
async function startSmtpRole(
  smtp: OpenEmail['smtp'],
  startSubmission: () => ReturnType<typeof startSubmissionServer>,
  startMx: () => Promise<ListeningPart>,
): Promise<Running> {
  const submission = await startSubmission();
  smtp.ports = submission.ports;
  const mx = await startMx().catch(async (error) => {
    await submission.stop(0);
    throw error;
  });
  return {
    drain: async (ending) => void (await Promise.all([submission.stop(ending.requestMs), mx.drain(ending)])),
    stop: mx.stop,
  };
}

/** With S3 a segment closes within a second and is uploaded, so that other machines can send its mail. */
const openSpool = ({ config, storage }: App, folder: string): Spool =>
  makeSpool({ storage, folder, prefix: segmentPrefix, mostAgeMs: config.storage ? maxOpenMs : 3_600_000 });

const openSender = (app: App, connections: number) =>
  makeSender({
    guard: app.guard,
    dns: app.dns,
    log: app.log,
    hostname: mailHostOf(app),
    maxConnections: connections,
    port: app.config.smtp_out_port,
    smartHost: app.config.email_smarthost,
    operatorGuard: makeOperatorGuard(app.config.dns_servers),
  });

/** How messages are signed and addressed, for tenants' mail and for the product's own. */
function describeSending(app: App, domains: DomainCache, returnPaths: ReturnPaths) {
  return {
    app,
    hostname: mailHostOf(app),
    returnPath: returnPaths.make,
    isRelayed: app.config.email_smarthost !== '',
    loadSigning: async (id: string) => {
      const keys = await domains.signingKeys(id);
      return keys && { domain: keys.domain, keys: [keys.rsa, keys.ed] };
    },
  };
}

interface ReceivingOptions {
  app: App;
  node: string;
  /** Reads any segment. */
  spool: Spool;
  folder: string;
  returnPaths: ReturnPaths;
  counters: Counters;
}

/** Receiving: the MX server (role `smtp`) and the reader of arrived mail. Roles `smtp` and `worker` both read, since recent bytes may be on this machine only. */
function openReceiving({ app, node, spool, folder, returnPaths, counters }: ReceivingOptions) {
  const mailHost = mailHostOf(app);
  // Received mail has its own segment, so submissions do not wait for its writes.
  const arriving = openSpool(app, folder);
  const own: OpenEmail['receiving'] = { port: undefined, readings: undefined, spool: arriving };
  const storing = runSegmentUploads(app, arriving);
  let readerCount = 0;
  const beginReadings = () => {
    readerCount++;
    own.readings ??= startArrivalReader({
      app,
      spool,
      node,
      mailHost,
      onOutcome: (outcome) => counters.arrivals.inc({ outcome }),
      onReport: (outcome) => counters.reports.inc({ outcome }),
    });
    return {
      async stop() {
        if (--readerCount > 0) return;
        const { readings } = own;
        own.readings = undefined;
        await readings?.stop();
      },
    };
  };
  return {
    own,
    startReadings: beginReadings,
    async startDoor() {
      const book = makeDestinationLookup(app, returnPaths);
      const reception = openInboundIntake({ app, spool: arriving, node, arrivalWorker: () => own.readings ?? noArrivalReader });
      const door = await startMxServer({ app, book, mailHost, reception });
      own.port = door.port;
      const readings = beginReadings();
      return {
        drain: ({ requestMs }: Ending) => door.stop(requestMs),
        stop: () => readings.stop(),
      };
    },
    async stop() {
      await storing.stop();
      await arriving.close();
    },
  };
}
