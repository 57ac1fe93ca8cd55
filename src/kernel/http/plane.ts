import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Registry } from 'prom-client';
import { Refusal } from '../errors.ts';
import { guarded } from '../faults/guarded.ts';
import type { Logger } from '../log.ts';
import { listRoles, type Role } from '../roles.ts';
import { type DelayedRefusals, noDelay } from './delayed-refusals.ts';
import { discard, hasBody } from './discard.ts';
import { loggedPath } from './logged-path.ts';
import { QuickCounter } from './quick-counter.ts';
import { hsts } from './request-id.ts';
import { isTemporary, refuseTemporarily } from './temporary-failure.ts';

// The common base of protocols that use raw HTTP on the main port: the registry's /v2 and /token, the agents of uptime, status pages. A
// plane decides which requests are its own, answers them, and formats refusals for its protocol. The base does the rest: roles, request
// ids, security headers, uncaught errors, the rest of a refused body, disconnected callers, and metrics.

export interface Plane {
  /** Its label in metrics and in the log. */
  name: string;
  /** The role that serves it. A process without it refuses its requests with a sentence that names the role. */
  role: Role;
  owns(request: IncomingMessage): boolean;
  /** Creates its handler, once, in a process that has the role. */
  open(): PlaneHandler;
  /**
   * Sends a response that is ready in memory. False: nothing was sent. It starts no work, so it uses no tenant's share: it runs before the
   * caller is identified.
   */
  sendReady?(request: IncomingMessage, response: ServerResponse): boolean;
  /** Sends a refusal in the protocol's own format. The base has set its headers, and discards the rest of the body afterwards. */
  refuse(request: IncomingMessage, response: ServerResponse, error: unknown): void;
  /** Called for every failure except a disconnected caller, also when it is too late to refuse. */
  failed?(error: unknown): void;
  /**
   * The plane sends `frameHeaders` together with its own headers: for responses that are ready in memory. Its other responses begin with
   * `setFrameHeaders`.
   */
  writesFrameHeaders?: true;
}

/** Answers a request; an exception or rejection is refused in the plane's format. */
export type PlaneHandler = (request: IncomingMessage, response: ServerResponse) => void | Promise<void>;

/** Handles raw HTTP on the main port. True: it took the request. */
export interface RawHandler {
  (request: IncomingMessage, response: ServerResponse): boolean;
  /** Takes the request if the response is ready: see `Plane.sendReady`. */
  takeReady?(request: IncomingMessage, response: ServerResponse): boolean;
}

/** The caller closed the connection before it had the response. */
export class CallerGone extends Error {
  constructor() {
    super('the caller closed the connection');
    this.name = 'CallerGone';
  }
}

/** Alternating names and values: the request id, the security headers of every response, and the caller's own. */
export function planeHeaders({ requestId, cameByTls }: IncomingMessage, own: readonly string[] = []): string[] {
  const headers = ['X-Content-Type-Options', 'nosniff', 'Referrer-Policy', 'no-referrer'].concat(own);
  if (requestId !== undefined) headers.push('X-Request-Id', requestId);
  if (cameByTls) headers.push('Strict-Transport-Security', hsts);
  return headers;
}

export function setPlaneHeaders({ requestId, cameByTls }: IncomingMessage, response: ServerResponse) {
  if (requestId !== undefined) response.setHeader('X-Request-Id', requestId);
  response.setHeader('X-Content-Type-Options', 'nosniff');
  response.setHeader('Referrer-Policy', 'no-referrer');
  if (cameByTls) response.setHeader('Strict-Transport-Security', hsts);
}

/** Aborted when the caller disconnects before it has the whole response. */
export function abortWhenCallerLeaves(response: ServerResponse): AbortSignal {
  const gone = new AbortController();
  response.once(
    'close',
    guarded('http.plane.close', response, () => response.writableFinished || gone.abort(new CallerGone())),
  );
  return gone.signal;
}

/** The refusal for an error that the plane does not handle itself. */
export function refusalFor(error: unknown, request: IncomingMessage): Refusal {
  if (error instanceof Refusal) return error;
  if (isTemporary(error)) return refuseTemporarily(error);
  const named = request.requestId ? `, and tell the operator this request id: ${request.requestId}` : '';
  return new Refusal(503, 'internal', `something went wrong on our side; try again${named}`, { cause: error });
}

/** The refusal format of planes that use our JSON. */
export function refuseInJson(request: IncomingMessage, response: ServerResponse, error: unknown): void {
  const refusal = refusalFor(error, request);
  const body = JSON.stringify({ error: refusal.message });
  response
    .writeHead(refusal.status, {
      ...refusal.headers,
      'X-Error-Code': refusal.code,
      'Cache-Control': 'no-store',
      'Content-Type': 'application/json',
      'Content-Length': Buffer.byteLength(body),
    })
    .end(body);
}

export interface PlaneOptions {
  log: Logger;
  roles: ReadonlySet<Role>;
  counted: PlaneMetrics;
  delayedRefusals?: DelayedRefusals;
}

/** Mounts a plane on the main port, or its refusal where another process serves it. */
export function mountPlane(plane: Plane, options: PlaneOptions): RawHandler {
  const mounted = new MountedPlane(plane, options);
  const take: RawHandler = (request, response) => mounted.take(request, response);
  if (plane.sendReady && options.roles.has(plane.role)) take.takeReady = (request, response) => mounted.takeReady(request, response);
  return take;
}

class MountedPlane {
  readonly #plane: Plane;
  readonly #log: Logger;
  readonly #delayedRefusals: DelayedRefusals;
  readonly #count: (status: number) => void;
  readonly #handle: PlaneHandler;

  constructor(plane: Plane, { log, roles, counted, delayedRefusals = noDelay }: PlaneOptions) {
    this.#plane = plane;
    this.#log = log;
    this.#delayedRefusals = delayedRefusals;
    this.#count = counted.of(plane.name);
    this.#handle = roles.has(plane.role) ? plane.open() : () => Promise.reject(servedElsewhere(plane.role, roles));
  }

  take(request: IncomingMessage, response: ServerResponse): boolean {
    if (!this.#plane.owns(request)) return false;
    if (!this.#plane.writesFrameHeaders) setPlaneHeaders(request, response);
    try {
      const handled = this.#handle(request, response);
      if (handled)
        handled.then(
          () => this.#count(response.statusCode),
          (error) => this.#fail(request, response, error),
        );
      else this.#count(response.statusCode);
    } catch (error) {
      this.#fail(request, response, error);
    }
    return true;
  }

  takeReady(request: IncomingMessage, response: ServerResponse): boolean {
    if (hasBody(request) || !this.#plane.owns(request)) return false;
    try {
      if (!this.#plane.sendReady!(request, response)) return false;
      this.#count(response.statusCode);
    } catch (error) {
      this.#fail(request, response, error);
    }
    return true;
  }

  #fail(request: IncomingMessage, response: ServerResponse, error: unknown): void {
    this.#orDestroy(request, response, () => this.#refuse(request, response, error));
  }

  /** An error while refusing ends this connection. A delayed refusal has no other code around it that would catch the error. */
  #orDestroy(request: IncomingMessage, response: ServerResponse, act: () => void): void {
    try {
      act();
    } catch (worse) {
      this.#logFailure(worse, request, 500);
      response.destroy();
    }
  }

  #refuse(request: IncomingMessage, response: ServerResponse, error: unknown): void {
    if (isCallerGone(error)) return void response.destroy();
    this.#plane.failed?.(error);
    if (response.destroyed) return;
    const refusal = refusalFor(error, request);
    const { status, code, isTold } = refusal;
    // A throttled caller must not fill the operator's log instead.
    if (status >= 500 && code !== 'rate_limited' && !isTold) this.#logFailure(error, request, status);
    if (response.headersSent) return void response.destroy();
    const send = () => this.#sendRefusal(request, response, error);
    if (!this.#delayedRefusals.delay(refusal, () => this.#orDestroy(request, response, send))) send();
  }

  #sendRefusal(request: IncomingMessage, response: ServerResponse, error: unknown): void {
    if (response.destroyed) return;
    if (this.#plane.writesFrameHeaders) setPlaneHeaders(request, response);
    this.#plane.refuse(request, response, error);
    discard(request);
    this.#count(response.statusCode);
  }

  #logFailure(error: unknown, { requestId, method, url }: IncomingMessage, status: number): void {
    this.#log.error({ err: error, requestId, plane: this.#plane.name, method, path: loggedPath(url), status }, 'request failed');
  }
}

export const servedElsewhere = (role: Role, roles: ReadonlySet<Role>) =>
  new Refusal(
    404,
    'served_elsewhere',
    `this is served by a process with the role ${role}; this one runs ${listRoles(roles)}. Ask another one, or start it with --roles`,
  );

const isCallerGone = (error: unknown) =>
  error instanceof CallerGone || (error as { code?: unknown } | undefined)?.code === 'ERR_STREAM_PREMATURE_CLOSE';

export interface PlaneMetrics {
  of(plane: string): (status: number) => void;
}

/** Counts responses by plane and status class. */
export function measurePlanes(registry: Registry): PlaneMetrics {
  const answers = new QuickCounter({
    name: 'quarterdeck_plane_answers_total',
    help: 'Answers of the raw protocols, by plane and status',
    labelNames: ['plane', 'status'],
    registers: [registry],
  });
  return {
    of: (plane) => {
      const series = [0, 1, 2, 3, 4, 5].map((hundreds) => answers.series(plane, `${hundreds}xx`));
      return (status) => series[Math.floor(status / 100)]?.count();
    },
  };
}
