import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { App } from '../kernel/app.ts';
import { exitCodes, Refusal, Stop } from '../kernel/errors.ts';
import { guarded } from '../kernel/faults/guarded.ts';
import { Connections } from '../kernel/http/connections.ts';
import { checkFraming } from '../kernel/http/framing.ts';
import { refuseAtEnd, refuseEarly, refuseMalformed, refuseTunnels } from '../kernel/http/server.ts';
import type { Ending } from '../kernel/lifecycle/ending.ts';
import { answerProofs } from '../kernel/tls/index.ts';

// Plain HTTP beyond this machine: proofs for the certificate authority, and redirects to https. It reads no body, and takes no credential.

const options = { headersTimeout: 10_000, requestTimeout: 10_000, keepAliveTimeout: 5_000, maxHeaderSize: 8_192, requireHostHeader: false };
/** Of one address only some, so that none keeps the authority away. The oldest idle ones go first. */
const limits = { unreadMs: 10_000, anonymousPerAddress: 50, anonymousInAll: 900, inAll: 1_000 };

export interface Redirecting {
  port: number;
  drain(ending: Ending): Promise<void>;
  stop(): Promise<void>;
}

/** Undefined: `http_listen` names no address. */
export async function serveRedirects(app: App): Promise<Redirecting | undefined> {
  const at = app.config.http_listen;
  if (!at) return undefined;
  const prove = answerProofs(app.presented);
  const answer = (request: IncomingMessage, response: ServerResponse) => {
    response.setHeader('Connection', 'close');
    try {
      checkFraming(request);
      if (!prove(request, response)) redirect(app, request, response);
    } catch (error) {
      refuseEarly(request, response, error);
    }
  };
  const server = http.createServer(
    options,
    guarded('redirect.request', ([{ socket }]) => socket, answer),
  );
  const connections = new Connections(app.peers, limits);
  connections.watch(server);
  server.on(
    'clientError',
    guarded('redirect.client-error', ([, socket]) => socket, refuseMalformed),
  );
  refuseTunnels(server);
  await app.sockets.listen(server, 'plain HTTP', at).catch((error: NodeJS.ErrnoException) => {
    throw new Stop(
      exitCodes.portTaken,
      `plain HTTP cannot be answered at ${at.host}:${at.port} (${error.code}); free the port or grant it to this program, set QUARTERDECK_HTTP_LISTEN to another address, or to nothing: then names are proven on the TLS port alone`,
    );
  });
  return {
    port: (server.address() as AddressInfo).port,
    drain: async ({ requestMs }) => {
      app.sockets.close(server);
      await connections.end(requestMs, refuseAtEnd);
    },
    stop: async () => void server.close(),
  };
}

/** A credential, or a change, that was sent in the clear is refused: a redirect would hide the mistake. */
function redirect(app: App, { method, url = '/', headers }: IncomingMessage, response: ServerResponse): void {
  if (headers.authorization !== undefined || (method !== 'GET' && method !== 'HEAD'))
    throw new Refusal(
      403,
      'clear_text',
      'this was sent in the clear, where others can read it; use https, and replace a credential that was sent so',
    );
  const body = 'this server speaks https\n';
  response
    .writeHead(308, {
      Location: `${originFor(app, headers.host)}${url === '*' ? '/' : url}`,
      'Content-Type': 'text/plain; charset=utf-8',
      'Content-Length': Buffer.byteLength(body),
      'X-Content-Type-Options': 'nosniff',
    })
    .end(method === 'HEAD' ? undefined : body);
}

/** The host that was asked for, if it is one of ours; else the public one: no redirect leads to a host that a request made up. */
function originFor({ config, presented, publicUrl }: App, host = ''): string {
  const name = host.toLowerCase().replace(/:\d*$/, '').replace(/\.$/, '');
  const main = new URL(publicUrl());
  const isOurs = presented.source?.has(name) || (config.status_url !== '' && new URL(config.status_url).hostname === name);
  return isOurs ? `https://${name}${main.port ? `:${main.port}` : ''}` : main.origin;
}
