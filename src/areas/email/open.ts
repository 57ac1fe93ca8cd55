import { join } from 'node:path';
import { readNodeId } from '../../kernel/node.ts';
import { makeSpool, type Spool } from '../../kernel/spool/index.ts';
import type { Host, Opened } from '../area.ts';
import { makeIntake } from './engine/intake/index.ts';
import { elsewhere, type Queue, startQueue } from './engine/queue/index.ts';
import { openReturnPaths } from './engine/return-path.ts';
import { keepStoring } from './engine/segments.ts';
import type { Intake } from './engine/submission.ts';

/** What email holds while its process runs. */
export interface OpenEmail {
  intake: Intake;
  spool: Spool;
}

export async function openEmail({ app }: Host): Promise<Opened<OpenEmail>> {
  const { config, storage } = app;
  const folder = join(config.data, 'mail');
  // A segment that only this machine reads is closed soon, so that others can go on with what is in it.
  const spool = makeSpool({ storage, folder, prefix: 'mail/segments', mostAgeMs: config.storage ? 60_000 : 3_600_000 });
  const storing = keepStoring(app, spool);
  const node = await readNodeId(config);
  const returnPaths = await openReturnPaths(app);
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
  return {
    own: { intake, spool },
    runs: {
      worker: async () => {
        const started = await startQueue({ app, spool, node, folder } as never);
        queue = started;
        return {
          async stop() {
            queue = elsewhere;
            await started.stop();
          },
        };
      },
    },
    async stop() {
      await storing.stop();
      await spool.close();
    },
  };
}
