import type { App } from '../../../../kernel/app.ts';
import type { Plane } from '../../../../kernel/http/plane.ts';
import { makeForms } from './forms.ts';
import { makeHandler, sendCached } from './handler.ts';
import { makeHistoryPageSender } from './history-pages.ts';
import { makeLogoSender } from './logo.ts';
import { sendRefusal } from './notices.ts';
import { ownHost } from './own-host.ts';
import type { PageCache } from './page-cache.ts';
import { prefix } from './route.ts';

/** Public pages on the main port, and alone on their own host. */
export function publicPlane(app: App, pageCache: PageCache): Plane {
  const own = ownHost(app.config);
  return {
    name: 'status',
    role: 'api',
    owns: ({ url, headers }) => Boolean(url?.startsWith(prefix)) || (own !== undefined && headers.host?.toLowerCase() === own),
    open: () =>
      makeHandler({ pageCache, forms: makeForms(app), sendLogo: makeLogoSender(app), sendHistoryPage: makeHistoryPageSender(app) }),
    sendReady: (request, response) => sendCached(pageCache, request, response),
    refuse: sendRefusal,
    writesFrameHeaders: true,
  };
}
