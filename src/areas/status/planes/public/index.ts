import type { App } from '../../../../kernel/app.ts';
import type { Plane } from '../../../../kernel/http/plane.ts';
import { makeForms } from './forms.ts';
import { makeHandler, sendKnown } from './handler.ts';
import { makeLogoSender } from './logo.ts';
import type { Memory } from './memory.ts';
import { sendRefusal } from './notices.ts';
import { makeOlderSender } from './older.ts';
import { ownHost } from './own-host.ts';
import { prefix } from './route.ts';

/** Public pages on the main port, and on a host of their own, where there is nothing else. */
export function publicPlane(app: App, memory: Memory): Plane {
  const own = ownHost(app.config);
  return {
    name: 'status',
    role: 'api',
    owns: ({ url, headers }) => Boolean(url?.startsWith(prefix)) || (own !== undefined && headers.host?.toLowerCase() === own),
    open: () => makeHandler({ memory, forms: makeForms(app), sendLogo: makeLogoSender(app), sendOlder: makeOlderSender(app) }),
    sendReady: (request, response) => sendKnown(memory, request, response),
    refuse: sendRefusal,
    writesFrameHeaders: true,
  };
}
