import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Server, Socket } from 'node:net';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Static } from 'typebox';
import type { App } from '../../../../kernel/app.ts';
import { DatabaseAway } from '../../../../kernel/db.ts';
import { Refusal } from '../../../../kernel/errors.ts';
import { discard } from '../../../../kernel/http/body.ts';
import type { RawHandler } from '../../../../kernel/http/plane.ts';
import { requestIdHeader } from '../../../../kernel/http/request-id.ts';
import { checker } from '../../../../kernel/http/validate.ts';
import { makePartitionMemory } from '../../engine/partitions.ts';
import { takeBatch } from '../../engine/take-batch.ts';
import { count, metricsOf } from '../../metrics.ts';
import { Batch, type BatchResponse, paths, pollSeconds, SessionRequest, type SessionResponse } from '../../protocol.ts';
import { openSession, refresh } from '../../store/instances.ts';
import { newsFor } from './assign.ts';
import { followChanges } from './changes.ts';
import { type Identify, type Identity, refused } from './identify.ts';
import { makeOpener } from './opener.ts';
import { readJson } from './read-json.ts';

interface Call {
  request: IncomingMessage;
  response: ServerResponse;
  by: Identity;
  query: URLSearchParams;
}

type Answer = (call: Call) => Promise<unknown>;

/** What probers ask, whoever they are: `identify` says who. True for everything below /agent/. */
export function agentHandler(app: App, identify: Identify): RawHandler {
  const changes = followChanges(app);
  const opener = makeOpener(app);
  const partitions = makePartitionMemory();
  const metrics = metricsOf(app);
  const checkSession = checker(SessionRequest, 'body');
  const checkBatch = checker(Batch, 'body');

  const session: Answer = async ({ request, by }): Promise<SessionResponse> => {
    const { instance, version, now } = checkSession(await readJson(request)) as Static<typeof SessionRequest>;
    const opened = await app.db.write((tx) => openSession(tx, by, instance, version, sane(now)));
    if (!opened)
      throw new Refusal(
        409,
        'conflict',
        'this instance has reported from another vantage before; give the prober an empty buffer directory',
      );
    return {
      vantage: by.vantage,
      label: opened.label,
      now: opened.now,
      seq: opened.seq,
      userAgent: `Quarterdeck-uptime/1 (+${app.publicUrl()})`,
    };
  };

  const assignments: Answer = async ({ request, response, by, query }) => {
    const instance = query.get('instance') ?? '';
    if (!isInstance.test(instance)) throw new Refusal(400, 'invalid', 'instance must be the id that the session was opened with');
    if (!(await app.db.read((tx) => refresh(tx, by.vantage, instance)))) throw noSession();
    const until = performance.now() + pollSeconds * 1000;
    const gone = new AbortController();
    response.once('close', () => gone.abort()); // not the socket's: many questions come by one
    let over = AbortSignal.any([by.signal, gone.signal]);
    for (;;) {
      const seen = changes.count();
      const news = await app.db.read((tx) => newsFor(tx, opener, by.vantage, instance, query.get('since') ?? undefined));
      if (news) return news;
      while (changes.count() === seen && !over.aborted) {
        const left = until - performance.now();
        if (left <= 0 || isClosing(request)) return { cursor: query.get('since'), full: false, assignments: [], removed: [] };
        await changes.after(seen, Math.min(left, closingEveryMs), over);
      }
      if (gone.signal.aborted) return undefined;
      if (by.signal.aborted) over = AbortSignal.any([(await identify(request)).signal, gone.signal]); // it may only have been forgotten
    }
  };

  const results: Answer = async ({ request, by }): Promise<Static<typeof BatchResponse>> => {
    const batch = checkBatch(await readJson(request)) as Batch;
    const given = { ...batch, now: sane(batch.now) };
    const taken = await takeBatch(app, partitions, by, given).catch((error) => {
      if (error?.code !== noPartition) throw error;
      // Somebody with a clock far ahead has dropped it since we saw it.
      partitions.forget();
      return takeBatch(app, partitions, by, given);
    });
    if (taken.is === 'revoked') throw refused();
    if (taken.is === 'no session') throw noSession();
    count(metrics, by.vantage, taken);
    return { seq: batch.seq };
  };

  const routes: Record<string, { method: string; answer: Answer }> = {
    [paths.session]: { method: 'POST', answer: session },
    [paths.assignments]: { method: 'GET', answer: assignments },
    [paths.results]: { method: 'POST', answer: results },
  };

  const answer = async (request: IncomingMessage, response: ServerResponse, path: string, query: string) => {
    const by = await identify(request);
    const route = Object.hasOwn(routes, path) ? routes[path] : undefined;
    if (!route) throw new Refusal(404, 'no_such_operation', `there is no ${path}; agents use ${Object.values(paths).join(', ')}`);
    if (request.method !== route.method)
      throw new Refusal(405, 'method_not_allowed', `${path} is asked with ${route.method}`, { headers: { allow: route.method } });
    const body = await route.answer({ request, response, by, query: new URLSearchParams(query) });
    if (body !== undefined) await send(response, 200, body);
  };

  return (request, response) => {
    const [path = '', query = ''] = (request.url ?? '').split('?', 2);
    if (!path.startsWith('/agent/')) return false;
    answer(request, response, path, query).catch((error) => {
      discard(request);
      const refusal = asRefusal(error);
      if (refusal.code === 'internal') app.log.error({ err: error, requestId: request.requestId, path }, 'a prober’s request failed');
      void send(
        response,
        refusal.status,
        { error: refusal.message },
        {
          ...refusal.headers,
          ...requestIdHeader(request),
          'x-error-code': refusal.code,
        },
      );
    });
    return true;
  };
}

const isInstance = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const noPartition = '23514';
/** Nobody tells a request under way that its server stops, so a waiting one looks: it must not hold the stop up. */
const closingEveryMs = 250;
const isClosing = ({ socket }: IncomingMessage) => (socket as Socket & { server?: Server }).server?.listening === false;

/** A clock is told for an operator to read; whatever it says must fit the column. */
const sane = (ms: number) => Math.min(Math.max(Math.round(ms), 0), 8.64e15);

const noSession = () => new Refusal(409, 'no_session', 'this instance has no session with us; open one with POST /agent/v1/session');

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
