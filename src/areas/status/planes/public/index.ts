/**
 * The public plane: answers readers without a login, from memory where possible.
 *
 * `route.ts` parses the path; `page-hosts.ts` knows the domains of pages; `handler.ts` dispatches. `page-cache.ts` holds current pages and, in `last-read.ts`, the last read state of
 * each. `renderings.ts` renders each output of a page once, and `kernel/http/output.ts` encodes it once per coding. `history-pages.ts` reads older
 * incidents on request. `forms.ts` handles subscribe, confirm and unsubscribe; `logo.ts` and `notices.ts` send the rest.
 *
 * A page is current (sent without a statement), refreshing (a change was heard, or 30 s have passed), or stale (the database does not
 * answer: the last state is shown with its age). A page never read by this process is a 503 then. All state is in memory and bounded: 64 MiB
 * of pages, a quarter of it for one organization.
 */
import type { App } from '../../../../kernel/app.ts';
import type { Plane } from '../../../../kernel/http/plane.ts';
import { makeForms } from './forms.ts';
import { makeHandler, sendCached } from './handler.ts';
import { makeHistoryPageSender } from './history-pages.ts';
import { makeLogoSender } from './logo.ts';
import { sendRefusal } from './notices.ts';
import { ownHost } from './own-host.ts';
import type { PageCache } from './page-cache.ts';
import type { PageHosts } from './page-hosts.ts';
import { prefix } from './route.ts';

/** Public pages on the main port, and alone on their own host, or on the domain of one of them. */
export function publicPlane(app: App, pageCache: PageCache, hosts: PageHosts): Plane {
  const own = ownHost(app.config);
  return {
    name: 'status',
    role: 'api',
    owns: ({ url, headers }) =>
      Boolean(url?.startsWith(prefix)) ||
      (own !== undefined && headers.host?.toLowerCase() === own) ||
      hosts.slugOf(headers.host) !== undefined,
    open: () =>
      makeHandler({ pageCache, hosts, forms: makeForms(app), sendLogo: makeLogoSender(app), sendHistoryPage: makeHistoryPageSender(app) }),
    sendReady: (request, response) => sendCached({ pageCache, hosts }, request, response),
    refuse: sendRefusal,
    writesFrameHeaders: true,
  };
}
