import type { IncomingMessage, ServerResponse } from 'node:http';
import type { App } from '../../../../kernel/app.ts';
import { DatabaseAway } from '../../../../kernel/db.ts';
import type { RawHandler } from '../../../../kernel/http/server.ts';
import { lasting } from '../../views/render/words.ts';
import type { Forms } from './forms.ts';
import { logoSender } from './logo.ts';
import type { Memory, StatusPageAnswer } from './memory.ts';
import { sendAway, sendMissing, sendWrongMethod } from './notices.ts';
import { ownHost } from './own-host.ts';
import { isRendering } from './renderings.ts';
import { type Route, routeOf } from './route.ts';

const prefix = '/status/';

/** Public pages on the main port, and on a host of their own, where there is nothing else. */
export function publicHandler(app: App, memory: Memory, forms: Forms): RawHandler {
  const own = ownHost(app.config);

  const sendLogo = logoSender(app);

  return (request, response) => {
    const url = request.url ?? '/';
    const isOwnHost = own !== undefined && request.headers.host?.toLowerCase() === own;
    if (!isOwnHost && !url.startsWith(prefix)) return false;
    const query = url.indexOf('?');
    const path = query < 0 ? url : url.slice(0, query);
    const rest = path.startsWith(prefix) ? path.slice(prefix.length) : path.slice(1);
    answerRoute(request, response, routeOf(rest, isRendering));
    return true;
  };

  function answerRoute(request: IncomingMessage, response: ServerResponse, route: Route) {
    const reads = request.method === 'GET' || request.method === 'HEAD';
    const failed = (error: unknown) => {
      if (!(error instanceof DatabaseAway)) app.log.error({ err: error, route: route.to }, 'a status page failed');
      if (!response.headersSent) sendAway(request, response);
      else response.destroy();
    };
    try {
      const known = route.to === 'rendering' && reads ? memory.peek(route.slug) : undefined;
      if (known && route.to === 'rendering') return show(request, response, known, route.name);
    } catch (error) {
      return failed(error);
    }
    slowly(request, response, route, reads).catch(failed);
  }

  async function slowly(request: IncomingMessage, response: ServerResponse, route: Route, reads: boolean) {
    if (route.to === 'nothing') return sendMissing(request, response);
    const found = await memory.find(route.slug);
    if (found.is === 'away') return sendAway(request, response);
    if (found.is === 'unknown') return sendMissing(request, response);

    if (route.to === 'elsewhere') return void response.writeHead(308, { Location: `../${route.slug}`, 'Content-Length': 0 }).end();
    const takesPosts = route.to !== 'rendering' && route.to !== 'logo';
    const posts = takesPosts && request.method === 'POST';
    if (route.to === 'subscribe' ? !posts : !reads && !posts)
      return sendWrongMethod(request, response, route.to === 'subscribe' ? 'POST' : takesPosts ? 'GET, HEAD, POST' : 'GET, HEAD');
    if (route.to === 'rendering') return show(request, response, found, route.name);
    if (route.to === 'logo') return sendLogo(found, request, response);
    return forms(request, response, route, found);
  }
}

function show(request: IncomingMessage, response: ServerResponse, found: StatusPageAnswer, name: string) {
  if (found.is !== 'page') return sendMissing(request, response);
  if (found.ageMs === undefined) return found.renderings.get(name)!.send(request, response);
  const seconds = Math.floor(found.ageMs / 1000);
  // RFC 9111, 5.1 and RFC 7234, 5.5.1: caches and programs are told too. Rounded, so that a crowd of late readers shares a rendering.
  const told = seconds < 60 ? 'less than a minute' : lasting(Math.floor(seconds / 60) * 60);
  found.renderings.late(name, told)!.send(request, response, ['Age', String(seconds), 'Warning', '110 - "Response is Stale"']);
}
