import { type LastUsed, makeLastUsed } from '../../identity/last-used.ts';
import { rateLimit } from '../../identity/rate-limit.ts';
import type { App } from '../../kernel/app.ts';
import { makeOperatorGuard } from '../../kernel/guard/index.ts';
import { readNodeId } from '../../kernel/node.ts';
import { makeSpool, type Spool } from '../../kernel/spool/index.ts';
import type { Host, Opened } from '../area.ts';
import { type DomainBook, makeDomainBook } from './engine/domains/book.ts';
import { type DkimKeys, makeKeyMaker } from './engine/domains/dkim-keys.ts';
import { type HandIn, sendRate } from './engine/hand-in.ts';
import { makeIntake } from './engine/intake/index.ts';
import { mailHostOf } from './engine/mail-host.ts';
import { openOwnMail } from './engine/own-mail.ts';
import { elsewhere, type Queue, startQueue } from './engine/queue/index.ts';
import { openReturnPaths } from './engine/return-path.ts';
import { keepStoring, segmentFolder, segmentPrefix } from './engine/segments.ts';
import { makeSender } from './engine/sending/index.ts';
import { type Deliverer, makeDeliverer } from './engine/webhooks/deliver.ts';
import { makeCounters, measure } from './metrics.ts';
import { resendPlane } from './planes/resend/index.ts';
import { openSmtpDoor } from './planes/smtp/index.ts';
import { touchKeys } from './store/send-keys.ts';

/** What email holds while its process runs. */
export interface OpenEmail extends HandIn {
  /** What every message asks of its domain. */
  domains: DomainBook;
  makeKeys: (org: string) => Promise<DkimKeys>;
  /** Of send keys, by their ids. */
  lastUsed: LastUsed;
  spool: Spool;
  /** What tells endpoints of events. */
  deliverer: Deliverer;
  /** Where mail is taken in by SMTP, once it is: the ports of STARTTLS and of TLS. */
  smtp: { ports: number[] };
}

/** To all sites together; and for the product's own mail, of which pages are a part, so many more that nobody else takes. */
const connections = 200;
const ownConnections = 20;

export async function openEmail({ app, principals }: Host): Promise<Opened<OpenEmail>> {
  const folder = segmentFolder(app.config.data);
  const spool = openSpool(app, folder);
  const storing = keepStoring(app, spool);
  const node = await readNodeId(app.config);
  const domains = makeDomainBook(app);
  const lastUsed = makeLastUsed(app, touchKeys);
  const counters = makeCounters();
  const sending = await describeSending(app, domains);

  const ownSender = openSender(app, ownConnections);
  const ownMail = await openOwnMail({ ...sending, sender: ownSender });
  app.mail.prefer(ownMail);

  let running: Queue | undefined;
  const startSending = async () => {
    const counted = (outcome: string) => counters.outcomes.inc({ outcome });
    const queue = await startQueue({ ...sending, spool, node, folder, sender: openSender(app, connections), counted });
    running = queue;
    return {
      async stop() {
        running = undefined;
        await queue.stop();
      },
    };
  };
  const intake = makeIntake({ app, spool, node, queue: () => running ?? elsewhere });
  const sends = rateLimit(sendRate.perSecond * 60, undefined, sendRate.burst);
  const handIn: HandIn = { intake, domains, sends, used: lastUsed.used };

  const smtp: OpenEmail['smtp'] = { ports: [] };
  const startTaking = async () => {
    const door = await openSmtpDoor({ app, principals, ...handIn, mailHost: sending.hostname });
    smtp.ports = door.ports;
    return door;
  };

  const deliverer = makeDeliverer(app, (outcome) => counters.deliveries.inc({ outcome }));
  return {
    own: { ...handIn, domains, makeKeys: makeKeyMaker(), lastUsed, spool, deliverer, smtp },
    planes: [resendPlane({ app, principals, ...handIn })],
    runs: { worker: startSending, smtp: startTaking },
    metrics: (registry) => measure(registry, app.db, counters, () => running),
    async stop() {
      ownMail.stop();
      await ownSender.stop(0);
      await lastUsed.stop();
      await storing.stop();
      await spool.close();
    },
  };
}

/** A segment that only this machine reads is closed soon, so that others can go on with what is in it. */
const openSpool = ({ config, storage }: App, folder: string): Spool =>
  makeSpool({ storage, folder, prefix: segmentPrefix, mostAgeMs: config.storage ? 60_000 : 3_600_000 });

const openSender = (app: App, most: number) =>
  makeSender({
    ...{ guard: app.guard, dns: app.dns, log: app.log, hostname: mailHostOf(app), connections: most },
    ...{ port: app.config.smtp_out_port, smartHost: app.config.email_smarthost },
    operatorGuard: makeOperatorGuard(app.config.dns_servers),
  });

/** How messages are made ready, whoever's they are. */
async function describeSending(app: App, domains: DomainBook) {
  const returnPaths = await openReturnPaths(app);
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
