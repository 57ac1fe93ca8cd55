import type { IncomingMessage, ServerResponse } from 'node:http';
import { frameHeaders, type PlaneHandler } from '../../../../kernel/http/plane.ts';
import { lasting } from '../../views/render/words.ts';
import type { Forms } from './forms.ts';
import type { LogoSender } from './logo.ts';
import type { Memory, StatusPageAnswer } from './memory.ts';
import { sendAway, sendMissing, sendWrongMethod } from './notices.ts';
import type { OlderSender } from './older.ts';
import { isRendering } from './renderings.ts';
import { pathBelow, type Route, routeOf } from './route.ts';

interface Parts {
  memory: Memory;
  forms: Forms;
  sendLogo: LogoSender;
  sendOlder: OlderSender;
}

const routeFor = ({ url = '/' }: IncomingMessage) => routeOf(pathBelow(url), isRendering);

/** What is known to hold is sent at once, without a promise. False: it has to be looked up, and nothing was sent. */
export function sendKnown(memory: Memory, request: IncomingMessage, response: ServerResponse, route = routeFor(request)): boolean {
  const known = route.to === 'rendering' && isRead(request) ? memory.peek(route.slug) : undefined;
  if (!known || route.to !== 'rendering') return false;
  sendRendering(request, response, known, route.name);
  return true;
}

export function makeHandler(parts: Parts): PlaneHandler {
  return (request, response) => {
    const route = routeFor(request);
    return sendKnown(parts.memory, request, response, route) ? undefined : answerSlowly(parts, request, response, route);
  };
}

const isRead = ({ method }: IncomingMessage) => method === 'GET' || method === 'HEAD';

async function answerSlowly(
  { memory, forms, sendLogo, sendOlder }: Parts,
  request: IncomingMessage,
  response: ServerResponse,
  route: Route,
) {
  if (route.to === 'nothing') return sendMissing(request, response);
  const found = await memory.find(route.slug);
  if (found.is === 'away') return sendAway(request, response);
  if (found.is === 'unknown') return sendMissing(request, response);

  if (route.to === 'elsewhere')
    return void response.writeHead(308, frameHeaders(request, ['Location', `../${route.slug}`, 'Content-Length', '0'])).end();
  const takesPosts = route.to !== 'rendering' && route.to !== 'logo' && route.to !== 'older';
  const posts = takesPosts && request.method === 'POST';
  if (route.to === 'subscribe' ? !posts : !isRead(request) && !posts)
    return sendWrongMethod(request, response, route.to === 'subscribe' ? 'POST' : takesPosts ? 'GET, HEAD, POST' : 'GET, HEAD');
  if (route.to === 'rendering') return sendRendering(request, response, found, route.name);
  if (route.to === 'logo') return sendLogo(found, request, response);
  if (route.to === 'older') return sendOlder(found, route.place, request, response);
  return forms(request, response, route, found);
}

function sendRendering(request: IncomingMessage, response: ServerResponse, found: StatusPageAnswer, name: string) {
  if (found.is !== 'page') return sendMissing(request, response);
  if (found.ageMs === undefined) return found.renderings.get(name)!.send(request, response);
  const seconds = Math.floor(found.ageMs / 1000);
  // RFC 9111, 5.1 and RFC 7234, 5.5.1: caches and programs are told too. Rounded, so that a crowd of late readers shares a rendering.
  const told = seconds < 60 ? 'less than a minute' : lasting(Math.floor(seconds / 60) * 60);
  found.renderings.late(name, told)!.send(request, response, ['Age', String(seconds), 'Warning', '110 - "Response is Stale"']);
}
