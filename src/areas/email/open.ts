import { join } from 'node:path';
import { type LastUsed, makeLastUsed } from '../../identity/last-used.ts';
import { readNodeId } from '../../kernel/node.ts';
import { makeSpool, type Spool } from '../../kernel/spool/index.ts';
import type { Host, Opened } from '../area.ts';
import { type DomainBook, makeDomainBook } from './engine/domains/book.ts';
import { type DkimKeys, makeKeyMaker } from './engine/domains/dkim-keys.ts';
import { makeIntake } from './engine/intake/index.ts';
import { mailHostOf } from './engine/mail-host.ts';
import { openOwnMail } from './engine/own-mail.ts';
import { elsewhere, type Queue, startQueue } from './engine/queue/index.ts';
import { openReturnPaths } from './engine/return-path.ts';
import { keepStoring } from './engine/segments.ts';
import { makeSender } from './engine/sending/index.ts';
import type { Intake } from './engine/submission.ts';
import { touchKeys } from './store/send-keys.ts';

/** What email holds while its process runs. */
export interface OpenEmail {
  /** What every message asks of its domain. */
  domains: DomainBook;
  makeKeys: (org: string) => Promise<DkimKeys>;
  /** Of send keys, by their ids. */
  lastUsed: LastUsed;
  intake: Intake;
  spool: Spool;
}

/** To all sites together; and for the product's own mail, of which pages are a part, so many more that nobody else takes. */
const connections = 200;
const ownConnections = 20;

export async function openEmail({ app }: Host): Promise<Opened<OpenEmail>> {
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
  const hostname = mailHostOf(app);
  const openSender = (connections: number) =>
    makeSender({
      ...{ guard: app.guard, dns: app.dns, log: app.log, hostname, connections },
      ...{ port: config.smtp_out_port, smartHost: config.email_smarthost },
    });
  const common = {
    ...{ app, hostname, returnPath: returnPaths.make, isRelayed: config.email_smarthost !== '' },
    loadSigning: async (id: string) => {
      const keys = await domains.signingKeys(id);
      return keys && { domain: keys.domain, keys: [keys.rsa, keys.ed] };
    },
  };
  const ownSender = openSender(ownConnections);
  const ownMail = await openOwnMail({ ...common, sender: ownSender });
  app.mail.prefer(ownMail);

  const startSending = async () => {
    const started = await startQueue({ ...common, spool, node, folder, sender: openSender(connections) });
    queue = started;
    return {
      async stop() {
        queue = elsewhere;
        await started.stop();
      },
    };
  };

  return {
    own: { domains, makeKeys: makeKeyMaker(), lastUsed, intake, spool },
    runs: { worker: startSending },
    async stop() {
      ownMail.stop();
      await ownSender.stop(0);
      await lastUsed.stop();
      await storing.stop();
      await spool.close();
    },
  };
}
