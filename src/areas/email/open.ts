import { join } from 'node:path';
import { type LastUsed, makeLastUsed } from '../../identity/last-used.ts';
import { rateLimit } from '../../identity/rate-limit.ts';
import { readNodeId } from '../../kernel/node.ts';
import { makeSpool, type Spool } from '../../kernel/spool/index.ts';
import type { Host, Opened } from '../area.ts';
import { type DomainBook, makeDomainBook } from './engine/domains/book.ts';
import { type DkimKeys, makeKeyMaker } from './engine/domains/dkim-keys.ts';
import { type HandIn, sendRate } from './engine/hand-in.ts';
import { makeIntake } from './engine/intake/index.ts';
import { mailHostOf } from './engine/mail-host.ts';
import { elsewhere, type Queue, startQueue } from './engine/queue/index.ts';
import { openReturnPaths } from './engine/return-path.ts';
import { keepStoring } from './engine/segments.ts';
import { makeSender } from './engine/sending/index.ts';
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
  /** Where mail is taken in by SMTP, once it is: the ports of STARTTLS and of TLS. */
  smtp: { ports: number[] };
}

export async function openEmail({ app, principals }: Host): Promise<Opened<OpenEmail>> {
  const { config, storage } = app;
  const folder = join(config.data, 'mail');
  // A segment that only this machine reads is closed soon, so that others can go on with what is in it.
  const spool = makeSpool({ storage, folder, prefix: 'mail/segments', mostAgeMs: config.storage ? 60_000 : 3_600_000 });
  const storing = keepStoring(app, spool);
  const node = await readNodeId(config);
  const returnPaths = await openReturnPaths(app);
  const domains = makeDomainBook(app);
  const lastUsed = makeLastUsed(app, touchKeys);

  let queue: Pick<Queue, 'reserve' | 'release' | 'begin'> = elsewhere;
  const intake = makeIntake({
    app,
    spool,
    node,
    queue: {
      reserve: (org, domain) => queue.reserve(org, domain),
      release: (org, domain) => queue.release(org, domain),
      begin: (born) => queue.begin(born),
    },
  });
  const sends = rateLimit(sendRate.perSecond * 60, undefined, sendRate.burst);
  const handIn: HandIn = { intake, domains, sends, used: lastUsed.used };
  const smtp: OpenEmail['smtp'] = { ports: [] };
  const startSending = async () => {
    const hostname = mailHostOf(app);
    const started = await startQueue({
      app,
      spool,
      node,
      folder,
      hostname,
      sender: makeSender({
        guard: app.guard,
        dns: app.dns,
        log: app.log,
        hostname,
        port: config.smtp_out_port,
        smartHost: config.email_smarthost,
      }),
      loadSigning: async (id) => {
        const keys = await domains.signingKeys(id);
        return keys && { domain: keys.domain, keys: [keys.rsa, keys.ed] };
      },
      returnPath: returnPaths.make,
      isRelayed: config.email_smarthost !== '',
    });
    queue = started;
    return {
      async stop() {
        queue = elsewhere;
        await started.stop();
      },
    };
  };

  return {
    own: { ...handIn, domains, makeKeys: makeKeyMaker(), lastUsed, spool, smtp },
    planes: [resendPlane({ app, principals, ...handIn })],
    runs: {
      worker: startSending,
      smtp: async () => {
        const door = await openSmtpDoor({ app, principals, ...handIn, mailHost: mailHostOf(app) });
        smtp.ports = door.ports;
        return door;
      },
    },
    async stop() {
      await lastUsed.stop();
      await storing.stop();
      await spool.close();
    },
  };
}
