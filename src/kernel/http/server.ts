import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import Fastify, { type FastifyError, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { Refusal } from '../errors.ts';
import { guarded } from '../faults/guarded.ts';
import type { Logger } from '../log.ts';
import type { Presenting } from '../tls/index.ts';
import type { Certificate } from '../x509/certificate.ts';
import { asAnonymousCaller } from './anonymous-caller.ts';
import { discardAfterAnswer } from './body.ts';
import type { Connections } from './connections.ts';
import { type DelayedRefusals, noDelay } from './delayed-refusals.ts';
import { discard } from './discard.ts';
import { checkFraming } from './framing.ts';
import { sendRefusalPage } from './html.ts';
import { JoinedRequest } from './joined-chunks.ts';
import { loggedPath } from './logged-path.ts';
import type { Peers } from './peer.ts';
import { onePerConnection } from './pipelining.ts';
import type { RawHandler } from './plane.ts';
import { hsts, nameRequest, newRequestId } from './request-id.ts';
import { buildSerializer } from './serializers.ts';
import { isTemporary, refuseTemporarily } from './temporary-failure.ts';

export interface ServerOptions {
  log: Logger;
  peers: Peers;
  /** The certificates of its handshakes; without them it speaks plain HTTP. */
  tls?: Presenting | undefined;
  /** Connections by which an authority checks a name are taken before TLS sees them. */
  takeProofs?: ((server: http.Server) => void) | undefined;
  /** Other protocols on this port, tried in this order before the control API. */
  raw: readonly RawHandler[];
  /** Why a path is not served here, when another process may serve it. */
  elsewhere?: (() => Refusal) | undefined;
  /** Limits its connections. */
  connections?: Connections;
  /** Delays 429 responses. */
  delayedRefusals?: DelayedRefusals;
  /** Whether the event loop is busy. */
  isBusy?: () => boolean;
}

const nodeOptions = {
  headersTimeout: 15_000,
  requestTimeout: 0, // bodies have their own limits: 30 s for JSON, as long as bytes flow for an image layer
  keepAliveTimeout: 72_000, // longer than the 60 s of common proxies, so that the proxy closes first
  connectionsCheckingInterval: 5_000,
  maxHeaderSize: 16_384,
  requireHostHeader: false, // node would send an empty response; it is refused below
  IncomingMessage: JoinedRequest,
};

const maxParamLength = 512;

/** ./validate.ts checks requests against the contract. Fastify would load its own validator for routes that ask for it: there are none. */
const buildValidator = () => () => {
  throw new Error('requests are checked by validate.ts, not by Fastify');
};

export function makeServer({
  log,
  peers,
  tls,
  takeProofs,
  raw,
  elsewhere,
  delayedRefusals,
  isBusy,
  connections,
}: ServerOptions): FastifyInstance {
  const server: FastifyInstance = Fastify({
    logger: false,
    genReqId: ({ requestId }) => requestId ?? newRequestId(),
    forceCloseConnections: 'idle',
    routerOptions: { maxParamLength },
    exposeHeadRoutes: true,
    return503OnClosing: false,
    schemaController: { compilersFactory: { buildSerializer, buildValidator } },
    serverFactory: (handler) => {
      const take = asAnonymousCaller(peers, (request, response) => {
        discardAfterAnswer(request, response);
        for (const takeRaw of raw) if (takeRaw(request, response)) return;
        handler(request, response);
      });
      const ready = raw.flatMap(({ takeReady }) => takeReady ?? []);
      const answer = (request: IncomingMessage, response: ServerResponse) => {
        nameRequest(request, peers);
        try {
          checkFraming(request);
          for (const takeReady of ready) if (takeReady(request, response)) return;
          take(request, response);
        } catch (error) {
          if (!(error instanceof Refusal))
            log.error({ err: error, requestId: request.requestId, path: loggedPath(request.url) }, 'a raw handler failed');
          if (response.headersSent) response.destroy();
          else refuseEarly(request, response, error);
        }
      };
      const paced = onePerConnection(
        guarded('http.request', ([{ socket }]) => socket, answer),
        isBusy,
      );
      const created = tls ? makeSecureServer(tls, paced) : http.createServer(nodeOptions, paced.listener);
      takeProofs?.(created);
      refuseTunnels(created);
      connections?.watch(created);
      paced.watch(created, tls ? 'secureConnection' : 'connection');
      const refuseExpectation = (request: IncomingMessage, response: ServerResponse) => {
        nameRequest(request, peers);
        refuseEarly(
          request,
          response,
          new Refusal(417, 'expectation_failed', 'the Expect header asks for what is not offered; only 100-continue is'),
        );
      };
      return created.on(
        'checkExpectation',
        guarded('http.expectation', ([{ socket }]) => socket, refuseExpectation),
      );
    },
    clientErrorHandler: guarded('http.client-error', ([, socket]) => socket, refuseMalformed),
    frameworkErrors: guarded(
      'http.framework-error',
      ([, { raw }]) => raw,
      (error, request, reply) => {
        setSecurityHeaders(request, reply as FastifyReply);
        refuseTarget(error, request, reply as FastifyReply);
      },
    ),
  });

  server.addHook('onRequest', (request, reply, done) => {
    setSecurityHeaders(request, reply);
    done();
  });
  installErrorHandlers(server, log, elsewhere, delayedRefusals);
  return server;
}

/** New connections get a renewed certificate; a client that names another host of ours gets that one's. */
function makeSecureServer(tls: Presenting, paced: ReturnType<typeof onePerConnection>): http.Server {
  const created = https.createServer(
    {
      ...nodeOptions,
      ...contextOptions(tls.certificate()),
      handshakeTimeout: handshakeTimeoutMs,
      SNICallback: guarded('http.choose-by-name', undefined, tls.chooseByName),
    },
    paced.listener,
  ) as unknown as http.Server;
  tls.onRenewed((certificate) => (created as unknown as https.Server).setSecureContext(contextOptions(certificate)));
  endHandshakesWithIdle(created);
  return created;
}

const handshakeTimeoutMs = 20_000;

/** Node knows a connection only after its handshake: a silent client would hold up a stop until its handshake is late. */
function endHandshakesWithIdle(server: http.Server): void {
  const handshaking = new Set<Socket>();
  const begin = (socket: Socket) => {
    handshaking.add(socket);
    socket.once('close', () => handshaking.delete(socket));
  };
  server.on(
    'connection',
    guarded('http.handshake.begin', ([socket]) => socket, begin),
  );
  const complete = (socket: Socket & { _parent?: Socket }) => void (socket._parent && handshaking.delete(socket._parent));
  server.on(
    'secureConnection',
    guarded('http.handshake.complete', ([socket]) => socket, complete),
  );
  const closeIdle = server.closeIdleConnections.bind(server);
  server.closeIdleConnections = () => {
    for (const socket of handshaking) socket.destroy();
    closeIdle();
  };
}

const contextOptions = ({ cert, key }: Certificate) => ({ cert, key, minVersion: 'TLSv1.2' as const });

/** Every refusal, ours or Fastify's, is sent in one format: as JSON, or as a page to a person. Unexpected errors are shown to the operator alone. */
function installErrorHandlers(server: FastifyInstance, log: Logger, elsewhere?: () => Refusal, delayedRefusals: DelayedRefusals = noDelay) {
  server.setNotFoundHandler((request, reply) => {
    const refusal = elsewhere?.() ?? noSuchOperation(request);
    reply.headers(errorHeaders(refusal, request));
    if (isForPerson(request)) sendRefusalPage(reply, 404, refusal.message);
    else reply.code(404).send({ error: refusal.message });
  });

  server.setErrorHandler((error, request, reply) => {
    const refusal = asRefusal(error, request, elsewhere);
    // A throttled caller must not fill the operator's log instead.
    if (refusal.status >= 500 && refusal.code !== 'rate_limited' && !refusal.isTold)
      log.error({ err: error, requestId: request.id, route: request.routeOptions.url, status: refusal.status }, 'request failed');
    const send = () => {
      discard(request.raw);
      reply
        .removeHeader('connection') // Fastify closes after any bad body; a client that still sends would not read the response
        .headers(errorHeaders(refusal, request));
      if (isForPerson(request)) sendRefusalPage(reply, refusal.status, refusal.message);
      else reply.code(refusal.status).type('application/json').serializer(JSON.stringify).send({ error: refusal.message });
    };
    const sendDelayed = () => {
      try {
        send();
      } catch (worse) {
        log.error({ err: worse, requestId: request.id, route: request.routeOptions.url, status: 500 }, 'request failed');
        reply.raw.destroy(); // Fastify, which would catch it, has gone on by then
      }
    };
    if (!delayedRefusals.delay(refusal, sendDelayed)) send();
  });
}

/** A browser that opens a page or sends a form says that it takes HTML; no client of the API does. */
const isForPerson = ({ url, headers }: FastifyRequest): boolean =>
  headers.accept?.includes('text/html') === true && !url.startsWith('/api/');

/** A path that the router cannot parse. */
function refuseTarget(error: FastifyError, request: FastifyRequest, reply: FastifyReply) {
  const why =
    error.code === 'FST_ERR_MAX_PARAM_LENGTH'
      ? `a part of the path has more than ${maxParamLength} characters`
      : 'the path is not valid percent-encoded UTF-8';
  const refusal = new Refusal(400, 'invalid', why);
  reply.headers(errorHeaders(refusal, request));
  if (isForPerson(request)) sendRefusalPage(reply, 400, why);
  else reply.code(400).send({ error: why });
}

const noSuchOperation = ({ method, url }: FastifyRequest) =>
  new Refusal(404, 'no_such_operation', `there is no ${method} ${url.split('?')[0]}; /docs lists what there is`);

/** On the reply, not on node's response: one writeHead with all headers is half the work of a call for each. */
function setSecurityHeaders(request: FastifyRequest, reply: FastifyReply) {
  reply.header('x-request-id', request.id);
  reply.header('x-content-type-options', 'nosniff');
  reply.header('referrer-policy', 'no-referrer');
  reply.header('x-frame-options', 'DENY');
  reply.header('content-security-policy', "default-src 'none'; frame-ancestors 'none'");
  reply.header('cache-control', 'no-store');
  if (request.raw.cameByTls) reply.header('strict-transport-security', hsts);
}

const errorHeaders = (refusal: Refusal, request: FastifyRequest) => ({
  ...refusal.headers,
  'X-Error-Code': refusal.code,
  ...(request.raw.httpVersionMajor === 1 && refusal.headers.connection ? { connection: 'close' } : {}),
});

function asRefusal(error: unknown, request: FastifyRequest, elsewhere?: () => Refusal): Refusal {
  if (error instanceof Refusal) return error;
  if (isTemporary(error)) return refuseTemporarily(error, request.routeOptions.config.away);
  const fastifyRefusal = fromFastify(error, request, elsewhere);
  if (fastifyRefusal) return fastifyRefusal;
  return new Refusal(503, 'internal', `something went wrong on our side; try again, and tell the operator this request id: ${request.id}`, {
    cause: error,
  });
}

/** Fastify has its own rules and sentences, such as that QUERY needs a Content-Type. Its client errors are rephrased. */
function fromFastify(error: unknown, request: FastifyRequest, elsewhere?: () => Refusal): Refusal | undefined {
  const { code, statusCode = 500 } = error as Partial<FastifyError>;
  if (!code?.startsWith('FST_') || statusCode >= 500) return undefined;
  if (request.is404) return elsewhere?.() ?? noSuchOperation(request);
  if (statusCode === 413) return new Refusal(413, 'too_large', 'the body is too large', { cause: error });
  if (statusCode === 415)
    return new Refusal(415, 'unsupported_media_type', 'the body must be JSON: send Content-Type: application/json', { cause: error });
  return new Refusal(400, 'invalid', 'this cannot be asked so; /docs shows how each operation is asked', { cause: error });
}

/** Requests that node:http refuses before they are complete: header bombs, slow headers, malformed lines. */
export function refuseMalformed(error: NodeJS.ErrnoException, socket: Duplex) {
  if (error.code === 'ECONNRESET' || !socket.writable) return socket.destroy();
  // In the middle of a response there is no place for another; a complete response still has to leave.
  const answer = (socket as Duplex & { _httpMessage?: ServerResponse | null })._httpMessage;
  if (answer?.headersSent) return answer.writableEnded ? endWithTimeout(socket) : socket.destroy();
  const refusal =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? new Refusal(431, 'headers_too_large', `the headers are larger than ${nodeOptions.maxHeaderSize / 1024} KiB`)
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? new Refusal(408, 'timeout', 'the request did not arrive in time')
        : new Refusal(400, 'malformed', 'this is not a well-formed HTTP request');
  refuseSocket(socket, refusal);
}

/** node emits CONNECT as a bare socket, and closes it silently without a listener. */
export function refuseTunnels(server: http.Server) {
  const refuseConnect = (_request: IncomingMessage, socket: Duplex) => {
    socket.on('error', () => socket.destroy());
    refuseSocket(
      socket,
      new Refusal(405, 'method_not_allowed', 'this is no proxy: CONNECT is not offered', {
        headers: { Allow: 'GET, HEAD, POST, PUT, PATCH, DELETE' },
      }),
    );
  };
  server.on(
    'connect',
    guarded('http.connect', ([, socket]) => socket, refuseConnect),
  );
}

function refuseSocket(socket: Duplex, refusal: Refusal) {
  const { headers, body } = earlyRefusal(refusal, newRequestId(), (socket as Duplex & { encrypted?: boolean }).encrypted);
  const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  endWithTimeout(socket, `HTTP/1.1 ${refusal.status} ${http.STATUS_CODES[refusal.status]}\r\n${head.join('')}\r\n${body}`);
}

/** A client that does not close its side is cut off: node watches connections only while it parses them. */
const lingerMs = 5_000;

function endWithTimeout(socket: Duplex, last?: string) {
  const cut = setTimeout(() => socket.destroy(), lingerMs).unref();
  socket.once('close', () => clearTimeout(cut));
  socket.resume();
  socket.end(last);
}

const internalError = () => new Refusal(503, 'internal', 'something went wrong on our side; try again');

/** A request that no handler sees. */
export function refuseEarly(request: IncomingMessage, response: ServerResponse, error: unknown) {
  const refusal = error instanceof Refusal ? error : internalError();
  const { headers, body } = earlyRefusal(refusal, request.requestId ?? newRequestId(), request.cameByTls);
  response.writeHead(refusal.status, headers).end(body);
}

/** The server ends before the response is there. A client that still sends its body is not cut off: it would not read this. */
export function refuseAtEnd(request: IncomingMessage, response: ServerResponse): void {
  const refusal = new Refusal(503, 'stopping', comeAgain, { headers: { 'Retry-After': '1' } });
  const { headers, body } = earlyRefusal(refusal, request.requestId ?? newRequestId(), request.cameByTls);
  const { Connection, ...others } = headers;
  response.shouldKeepAlive = !request.complete;
  response.writeHead(refusal.status, request.complete ? { ...others, Connection } : others).end(body);
  discard(request);
}

export const comeAgain = 'this server stops; send the request again in a moment';

function earlyRefusal(refusal: Refusal, requestId: string, cameByTls = false) {
  const body = JSON.stringify({ error: refusal.message });
  const headers = {
    ...refusal.headers,
    'X-Request-Id': requestId,
    ...(cameByTls ? { 'Strict-Transport-Security': hsts } : {}),
    'X-Error-Code': refusal.code,
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(body),
    Connection: 'close',
  };
  return { headers, body };
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The status while the database is unavailable, chosen by the operation's area. */
    away?: 502 | 503;
  }
}
