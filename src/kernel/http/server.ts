import { randomBytes } from 'node:crypto';
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { DatabaseAway } from '../db.ts';
import { Refusal } from '../errors.ts';
import type { Logger } from '../log.ts';
import { discard } from './body.ts';
import { JoinedRequest } from './joined-chunks.ts';
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
  requireHostHeader: false, // node would answer without a word; we refuse it below
  IncomingMessage: JoinedRequest,
};

const maxParamLength = 512;

// Cut from a supply: asking the system for a few random bytes at a time costs more than all else about an id.
let supply = '';
let taken = 0;

/** Request ids are ours unless a trusted proxy brought one: they end up in logs, jobs and audit rows. */
function newRequestId(): string {
  if (taken === supply.length) {
    supply = randomBytes(6_000).toString('base64url');
    taken = 0;
  }
  taken += 16; // 96 bits
  return `req_${supply.slice(taken - 16, taken)}`;
}

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
    routerOptions: { maxParamLength },
    exposeHeadRoutes: true,
    return503OnClosing: false,
    serverFactory: (handler) => {
      const listener = (request: IncomingMessage, response: ServerResponse) => {
        if (request.headers.host === undefined && request.httpVersion === '1.1')
          return refuseEarly(response, new Refusal(400, 'invalid', 'the Host header is missing; HTTP/1.1 needs one'));
        try {
          for (const take of raw) if (take(request, response)) return;
        } catch (error) {
          log.error({ err: error, url: request.url }, 'a raw handler failed');
          return response.headersSent ? void response.destroy() : refuseEarly(response, unforeseen());
        }
        handler(request, response);
      };
      const made = (
        tls
          ? https.createServer({ ...nodeOptions, cert: tls.cert, key: tls.key, minVersion: 'TLSv1.2' }, listener)
          : http.createServer(nodeOptions, listener)
      ) as http.Server;
      return made.on('checkExpectation', (_request: IncomingMessage, response: ServerResponse) =>
        refuseEarly(
          response,
          new Refusal(417, 'expectation_failed', 'the Expect header asks for what is not offered; only 100-continue is'),
        ),
      );
    },
    clientErrorHandler: refuseMalformed,
    frameworkErrors: (error, request, reply) => {
      const why =
        error.code === 'FST_ERR_MAX_PARAM_LENGTH'
          ? `a part of the path has more than ${maxParamLength} characters`
          : 'the path is not valid percent-encoded UTF-8';
      const refusal = new Refusal(400, 'invalid', why);
      const answer = reply as FastifyReply;
      guardHeaders(request, answer);
      answer.code(400).headers(errorHeaders(refusal, request)).send({ error: refusal.message });
    },
  });

  server.addHook('onRequest', (request, reply, done) => {
    guardHeaders(request, reply);
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
    discard(request.raw);
    reply
      .code(refusal.status)
      .removeHeader('connection') // Fastify closes after any bad body; a sender that still writes would not read our answer
      .headers(errorHeaders(refusal, request))
      .type('application/json')
      .serializer(JSON.stringify)
      .send({ error: refusal.message });
  });
  return server;
}

/** On the reply, not on node's response: one writeHead with everything is half the work of a call for each. */
function guardHeaders(request: FastifyRequest, reply: FastifyReply) {
  reply.header('x-request-id', request.id);
  reply.header('x-content-type-options', 'nosniff');
  reply.header('referrer-policy', 'no-referrer');
  reply.header('x-frame-options', 'DENY');
  reply.header('content-security-policy', "default-src 'none'; frame-ancestors 'none'");
  reply.header('cache-control', 'no-store');
  if (request.protocol === 'https') reply.header('strict-transport-security', 'max-age=31536000');
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
  const refusal =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? new Refusal(431, 'headers_too_large', `the headers are larger than ${nodeOptions.maxHeaderSize / 1024} KiB`)
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? new Refusal(408, 'timeout', 'the request did not arrive in time')
        : new Refusal(400, 'malformed', 'this is not a well-formed HTTP request');
  const { headers, body } = early(refusal);
  const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${refusal.status} ${http.STATUS_CODES[refusal.status]}\r\n${head.join('')}\r\n${body}`);
}

const unforeseen = () => new Refusal(503, 'internal', 'something went wrong on our side; try again');

/** A request that no handler sees. */
function refuseEarly(response: ServerResponse, refusal: Refusal) {
  const { headers, body } = early(refusal);
  response.writeHead(refusal.status, headers).end(body);
}

function early(refusal: Refusal) {
  const body = JSON.stringify({ error: refusal.message });
  const headers = {
    'X-Request-Id': newRequestId(),
    'X-Error-Code': refusal.code,
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(body),
    Connection: 'close',
  };
  return { headers, body };
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The status while the database is away, as the operation's area has it. */
    away?: 502 | 503;
  }
}
