import { randomBytes } from 'node:crypto';
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { DatabaseAway } from '../db.ts';
import { Refusal } from '../errors.ts';
import type { Logger } from '../log.ts';
import { isTrusted } from './proxies.ts';

/** Speaks raw HTTP on the same port, for protocols that stream (the registry's /v2). True: it took the request. */
export type RawHandler = (request: IncomingMessage, response: ServerResponse) => boolean;

export interface ServerOptions {
  log: Logger;
  trustedProxies: string[];
  tls?: { cert: string; key: string } | undefined;
  raw: RawHandler[];
}

const nodeOptions = {
  headersTimeout: 15_000,
  requestTimeout: 0, // bodies have limits of their own: 30 s for JSON, as long as bytes flow for an image layer
  keepAliveTimeout: 72_000, // longer than the 60 s of common proxies, so that they are the ones to close
  connectionsCheckingInterval: 5_000,
  maxHeaderSize: 16_384,
};

/** Request ids are ours unless a trusted proxy brought one: they end up in logs, jobs and audit rows. */
const newRequestId = () => `req_${randomBytes(12).toString('base64url')}`;

export function makeServer({ log, trustedProxies, tls, raw }: ServerOptions): FastifyInstance {
  const trusts = isTrusted(trustedProxies);
  const server: FastifyInstance = Fastify({
    logger: false,
    trustProxy: trustedProxies.length ? (address) => trusts(address) : false,
    genReqId: (request) => {
      const given = request.headers['x-request-id'];
      return typeof given === 'string' && /^[\w.-]{8,100}$/.test(given) && trusts(request.socket.remoteAddress ?? '')
        ? given
        : newRequestId();
    },
    forceCloseConnections: 'idle',
    routerOptions: { maxParamLength: 512 },
    exposeHeadRoutes: true,
    return503OnClosing: false,
    serverFactory: (handler) => {
      const listener = (request: IncomingMessage, response: ServerResponse) => {
        for (const take of raw) if (take(request, response)) return;
        handler(request, response);
      };
      return (
        tls
          ? https.createServer({ ...nodeOptions, cert: tls.cert, key: tls.key, minVersion: 'TLSv1.2' }, listener)
          : http.createServer(nodeOptions, listener)
      ) as http.Server;
    },
    clientErrorHandler: refuseMalformed,
    frameworkErrors: (error, request, reply) => {
      const refusal = new Refusal(400, 'invalid', 'the URL is not valid');
      log.debug({ error: error.message, requestId: request.id }, 'malformed URL');
      const answer = reply as FastifyReply;
      answer.code(400).headers(errorHeaders(refusal, request)).send({ error: refusal.message });
    },
  });

  server.addHook('onRequest', (request, reply, done) => {
    reply.raw.setHeader('X-Request-Id', request.id);
    reply.raw.setHeader('X-Content-Type-Options', 'nosniff');
    reply.raw.setHeader('Referrer-Policy', 'no-referrer');
    reply.raw.setHeader('X-Frame-Options', 'DENY');
    reply.raw.setHeader('Content-Security-Policy', "default-src 'none'; frame-ancestors 'none'");
    reply.raw.setHeader('Cache-Control', 'no-store');
    if (request.protocol === 'https') reply.raw.setHeader('Strict-Transport-Security', 'max-age=31536000');
    done();
  });

  server.setNotFoundHandler((request, reply) => {
    const refusal = new Refusal(
      404,
      'no_such_operation',
      `there is no ${request.method} ${request.url.split('?')[0]}; /docs lists what there is`,
    );
    reply.code(404).headers(errorHeaders(refusal, request)).send({ error: refusal.message });
  });

  server.setErrorHandler((error, request, reply) => {
    const refusal = asRefusal(error, request);
    if (refusal.status >= 500)
      log.error({ err: error, requestId: request.id, route: request.routeOptions.url, status: refusal.status }, 'request failed');
    reply
      .code(refusal.status)
      .headers(errorHeaders(refusal, request))
      .type('application/json')
      .serializer(JSON.stringify)
      .send({ error: refusal.message });
  });
  return server;
}

const errorHeaders = (refusal: Refusal, request: FastifyRequest) => ({
  ...refusal.headers,
  'X-Error-Code': refusal.code,
  ...(request.raw.httpVersionMajor === 1 && refusal.headers.connection ? { connection: 'close' } : {}),
});

function asRefusal(error: unknown, request: FastifyRequest): Refusal {
  if (error instanceof Refusal) return error;
  const away = request.routeOptions.config.away ?? 503;
  if (error instanceof DatabaseAway) {
    return new Refusal(
      away,
      'unavailable',
      away === 502 ? 'the backend is unreachable; try again in a moment' : 'the database is away; try again in a moment',
      {
        headers: { 'retry-after': '2' },
      },
    );
  }
  return new Refusal(503, 'internal', `something went wrong on our side; try again, and tell the operator this request id: ${request.id}`, {
    cause: error,
  });
}

/** What node:http refuses before there is a request: header bombs, slow headers, malformed lines. */
function refuseMalformed(error: NodeJS.ErrnoException, socket: Socket) {
  if (error.code === 'ECONNRESET' || !socket.writable) return socket.destroy();
  const [status, reason, sentence] =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? [431, 'Request Header Fields Too Large', 'the headers are larger than 16 KiB']
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? [408, 'Request Timeout', 'the request did not arrive in time']
        : [400, 'Bad Request', 'this is not a well-formed HTTP request'];
  const body = JSON.stringify({ error: sentence });
  socket.end(
    `HTTP/1.1 ${status} ${reason}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The status while the database is away, as the operation's area has it. */
    away?: 502 | 503;
  }
}
