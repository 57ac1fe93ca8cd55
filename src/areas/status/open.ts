import type { App } from '../../kernel/app.ts';
import type { Host, Opened, Running } from '../area.ts';
import { publicPlane } from './planes/public/index.ts';
import { makePageCache, type PageCache } from './planes/public/page-cache.ts';
import { openPageHosts } from './planes/public/page-hosts.ts';

export interface OpenStatus {
  /** Pages that this process has read. */
  pageCache: PageCache;
}

export async function openStatus({ app }: Host): Promise<Opened<OpenStatus>> {
  const pageCache = makePageCache(app);
  const hosts = await openPageHosts(app);
  return {
    own: { pageCache },
    planes: [publicPlane(app, pageCache, hosts)],
    runs: { api: async () => startWarming(app, pageCache) },
    async stop() {
      pageCache.stop();
      hosts.stop();
    },
  };
}

/** Reads pages ahead in the background. Startup does not wait, and an early reader triggers his own read. */
function startWarming(app: App, pageCache: PageCache): Running {
  const warming = pageCache.warm().catch((error) => app.log.warn({ err: error }, 'status pages could not be read ahead'));
  return {
    stop: () => {
      pageCache.stop();
      return warming;
    },
  };
}
