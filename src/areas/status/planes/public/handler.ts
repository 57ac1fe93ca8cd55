import type { IncomingMessage, ServerResponse } from 'node:http';
import { type PlaneHandler, planeHeaders } from '../../../../kernel/http/plane.ts';
import { formatDuration } from '../../views/render/labels.ts';
import type { Forms } from './forms.ts';
import type { HistoryPageSender } from './history-pages.ts';
import type { LogoSender } from './logo.ts';
import { sendNotFound, sendUnavailable, sendWrongMethod } from './notices.ts';
import type { PageCache, StatusPageAnswer } from './page-cache.ts';
import type { PageHosts } from './page-hosts.ts';
import { isRendering } from './renderings.ts';
import { pathAtRoot, pathBelow, type Route, routeOf } from './route.ts';

interface Parts {
  pageCache: PageCache;
  hosts: PageHosts;
  forms: Forms;
  sendLogo: LogoSender;
  sendHistoryPage: HistoryPageSender;
}

/** Where a request leads, and whether its host is the page's own domain. */
interface Asked {
  route: Route;
  isAtRoot: boolean;
}

function readRequest(hosts: PageHosts, { url = '/', headers }: IncomingMessage): Asked {
  const slug = hosts.slugOf(headers.host);
  return { route: routeOf(slug === undefined ? pathBelow(url) : pathAtRoot(slug, url), isRendering), isAtRoot: slug !== undefined };
}

/** Sends a cached page without a promise. False: it must be looked up, and nothing was sent. */
export function sendCached(
  { pageCache, hosts }: Pick<Parts, 'pageCache' | 'hosts'>,
  request: IncomingMessage,
  response: ServerResponse,
  asked = readRequest(hosts, request),
): boolean {
  const { route } = asked;
  const known = route.to === 'rendering' && isRead(request) ? pageCache.peek(route.slug) : undefined;
  if (!known || route.to !== 'rendering') return false;
  sendRendering(request, response, known, route.name, asked.isAtRoot);
  return true;
}

export function makeHandler(parts: Parts): PlaneHandler {
  return (request, response) => {
    const asked = readRequest(parts.hosts, request);
    return sendCached(parts, request, response, asked) ? undefined : lookUpAndSend(parts, request, response, asked);
  };
}

const isRead = ({ method }: IncomingMessage) => method === 'GET' || method === 'HEAD';

async function lookUpAndSend(
  { pageCache, forms, sendLogo, sendHistoryPage }: Parts,
  request: IncomingMessage,
  response: ServerResponse,
  { route, isAtRoot }: Asked,
) {
  if (route.to === 'nothing') return sendNotFound(request, response);
  const found = await pageCache.find(route.slug);
  if (found.is === 'unavailable') return sendUnavailable(request, response);
  if (found.is === 'unknown') return sendNotFound(request, response);

  if (route.to === 'elsewhere')
    return void response.writeHead(308, planeHeaders(request, ['Location', `../${route.slug}`, 'Content-Length', '0'])).end();
  const takesPosts = route.to !== 'rendering' && route.to !== 'logo' && route.to !== 'older';
  const posts = takesPosts && request.method === 'POST';
  if (route.to === 'subscribe' ? !posts : !isRead(request) && !posts)
    return sendWrongMethod(request, response, route.to === 'subscribe' ? 'POST' : takesPosts ? 'GET, HEAD, POST' : 'GET, HEAD');
  if (route.to === 'rendering') return sendRendering(request, response, found, route.name, isAtRoot);
  if (route.to === 'logo') return sendLogo(found, request, response);
  if (route.to === 'older') return sendHistoryPage(found, { cursor: route.cursor, isAtRoot }, request, response);
  return forms(request, response, { ...route, isAtRoot }, found);
}

function sendRendering(request: IncomingMessage, response: ServerResponse, found: StatusPageAnswer, name: string, isAtRoot: boolean) {
  if (found.is !== 'page') return sendNotFound(request, response);
  const renderings = isAtRoot ? found.renderings.atRoot() : found.renderings;
  if (found.ageMs === undefined) return renderings.get(name)!.send(request, response);
  const seconds = Math.floor(found.ageMs / 1000);
  // RFC 9111, 5.1 and RFC 7234, 5.5.1: headers tell caches and programs too. The age is rounded, so that many readers share one rendering.
  const told = seconds < 60 ? 'less than a minute' : formatDuration(Math.floor(seconds / 60) * 60);
  renderings.getStale(name, told)!.send(request, response, ['Age', String(seconds), 'Warning', '110 - "Response is Stale"']);
}
