import type { IncomingMessage, ServerResponse } from 'node:http';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { App } from '../../../../kernel/app.ts';
import { DatabaseAway } from '../../../../kernel/db.ts';
import { Refusal } from '../../../../kernel/errors.ts';
import { discard } from '../../../../kernel/http/body.ts';
import { requestIdHeader } from '../../../../kernel/http/request-id.ts';
import type { RawHandler } from '../../../../kernel/http/server.ts';
import { paths } from '../../../../protocols/agent.ts';
import { makePartitionMemory } from '../../engine/partitions.ts';
import { metricsOf } from '../../metrics.ts';
import { answerAssignments, answerResults, answerSession, type Call, type Desk, isClosing } from './answers.ts';
import { followChanges } from './changes.ts';
import type { Identify } from './identify.ts';
import { makeOpener } from './opener.ts';

interface Route {
  method: string;
  answer: (desk: Desk, call: Call) => Promise<unknown>;
}

const routes: Record<string, Route> = {
  [paths.session]: { method: 'POST', answer: answerSession },
  [paths.assignments]: { method: 'GET', answer: answerAssignments },
  [paths.results]: { method: 'POST', answer: answerResults },
};

/** What probers ask, whoever they are: `identify` says who. True for everything below /agent/. */
export function agentHandler(app: App, identify: Identify): RawHandler {
  const desk: Desk = {
    app,
    identify,
    changes: followChanges(app),
    opener: makeOpener(app),
    partitions: makePartitionMemory(),
    metrics: metricsOf(app),
  };
  return (request, response) => {
    const [path = '', query = ''] = (request.url ?? '').split('?', 2);
    if (!path.startsWith('/agent/')) return false;
    answerCall(desk, request, response, path, query).catch((error) => refuseCall(desk, request, response, path, error));
    return true;
  };
}

async function answerCall(desk: Desk, request: IncomingMessage, response: ServerResponse, path: string, query: string) {
  const by = await desk.identify(request);
  const route = Object.hasOwn(routes, path) ? routes[path] : undefined;
  if (!route) throw new Refusal(404, 'no_such_operation', `there is no ${path}; agents use ${Object.values(paths).join(', ')}`);
  if (request.method !== route.method)
    throw new Refusal(405, 'method_not_allowed', `${path} is asked with ${route.method}`, { headers: { allow: route.method } });
  const body = await route.answer(desk, { request, response, by, query: new URLSearchParams(query) });
  if (body !== undefined) await send(response, 200, body);
}

function refuseCall({ app }: Desk, request: IncomingMessage, response: ServerResponse, path: string, error: unknown) {
  discard(request);
  const refusal = asRefusal(error);
  if (refusal.code === 'internal') app.log.error({ err: error, requestId: request.requestId, path }, 'a prober’s request failed');
  const headers = { ...refusal.headers, ...requestIdHeader(request), 'x-error-code': refusal.code };
  void send(response, refusal.status, { error: refusal.message }, headers);
}

const asRefusal = (error: unknown): Refusal =>
  error instanceof Refusal
    ? error
    : error instanceof DatabaseAway
      ? new Refusal(503, 'unavailable', 'the database is away; keep the results and try again in a moment', {
          headers: { 'retry-after': '2' },
        })
      : new Refusal(503, 'internal', 'something went wrong on our side; keep the results and try again');

const pack = promisify(gzip);
/** Below it, packing costs more than sending. */
const packedBytes = 16_384;

async function send(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}) {
  const plain = Buffer.from(JSON.stringify(body));
  const packed = plain.length > packedBytes && /\bgzip\b/.test(String(response.req.headers['accept-encoding'] ?? ''));
  const bytes = packed ? await pack(plain) : plain;
  if (response.headersSent || response.destroyed) return;
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': bytes.length,
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    ...(packed ? { 'content-encoding': 'gzip' } : {}),
    // A stopping server waits for connections that were busy when it began to.
    ...(isClosing(response.req) ? { connection: 'close' } : {}),
    ...headers,
  });
  response.end(bytes);
}
