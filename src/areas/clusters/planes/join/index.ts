import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { makeAttempts, tooMany } from '../../../../identity/attempts.ts';
import { type Actor, audit } from '../../../../identity/audit.ts';
import type { Principal, Principals } from '../../../../identity/principal.ts';
import { rateLimit } from '../../../../identity/rate-limit.ts';
import type { Kind } from '../../../../identity/token-format.ts';
import type { App } from '../../../../kernel/app.ts';
import { invalid, Refusal } from '../../../../kernel/errors.ts';
import { runFor } from '../../../../kernel/fairness/index.ts';
import { holdUntilAnswered, readBody } from '../../../../kernel/http/body.ts';
import { markKnown } from '../../../../kernel/http/connections.ts';
import { hasBody } from '../../../../kernel/http/discard.ts';
import { readJson } from '../../../../kernel/http/json.ts';
import { type Plane, refuseInJson } from '../../../../kernel/http/plane.ts';
import { exchangeRegistration } from '../../engine/exchange.ts';
import type { RegistrationAccess } from '../../engine/join.ts';
import type { TenantClusters } from '../../engine/types.ts';
import { readJoiningMachine } from '../../rules/mesh/request.ts';

// Nodes join here with a registration token: `/join.sh` is the script for people and clouds; `POST /join/v1` exchanges the token.
// A machine that sends its name and a WireGuard key gets a place in the mesh, where the cluster has one.

export interface JoinPlaneOptions {
  app: App;
  principals: Principals;
  tenants: TenantClusters;
}

const node: ReadonlySet<Kind> = new Set(['node']);
/** Per registration token: enough for a large cluster that starts at once, and a limit for a client that loops. */
const exchangesPerMinute = 300;

const bodyLimits = { maxBytes: 4_096, totalMs: 15_000 };

const scriptNamed = (name: string) => readFileSync(new URL(name, import.meta.url), 'utf8');
/** It carries the program that keeps a node in its mesh. */
const joinScript = scriptNamed('./join.sh').replace('@mesh.sh@\n', () => scriptNamed('./mesh.sh'));

const pathOf = ({ url = '' }: IncomingMessage) => url.split('?', 1)[0];

export const joinPlane = (options: JoinPlaneOptions): Plane => ({
  name: 'join',
  role: 'api',
  owns: (request) => request.url!.startsWith('/join') && (pathOf(request) === '/join.sh' || pathOf(request) === '/join/v1'),
  open: () => {
    const authenticate = makeAuthentication(options);
    return (request, response) => {
      if (pathOf(request) === '/join.sh') return sendScript(request, response);
      if (request.method !== 'POST')
        throw new Refusal(405, 'method_not_allowed', 'exchange a registration token with POST', { headers: { allow: 'POST' } });
      return answerExchange(options, authenticate, request, response);
    };
  },
  refuse: refuseInJson,
});

function sendScript(request: IncomingMessage, response: ServerResponse): void {
  if (request.method !== 'GET' && request.method !== 'HEAD')
    throw new Refusal(405, 'method_not_allowed', 'the script is there to be read', { headers: { allow: 'GET, HEAD' } });
  const headers = { 'content-type': 'text/x-shellscript; charset=utf-8', 'content-length': Buffer.byteLength(joinScript) };
  response.writeHead(200, headers).end(request.method === 'HEAD' ? undefined : joinScript);
}

async function answerExchange(
  { app, tenants }: JoinPlaneOptions,
  authenticate: (request: IncomingMessage) => Promise<Principal>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const principal = await authenticate(request);
  const { clusterId, name } = principal.access as RegistrationAccess;
  const org = principal.org.id;
  const machine = await readMachine(app, principal, request, response);
  const actor: Actor = {
    org,
    user: { id: principal.id, email: `registration token ${name}` },
    ...(request.requestId ? { requestId: request.requestId } : {}),
  };
  const exchanged = await runFor(
    { org, operation: 'join' },
    () =>
      exchangeRegistration(app, tenants, { clusterId, registration: principal.id, machine }, (tx, token) =>
        audit(
          tx,
          actor,
          'clusters.token.exchange',
          { id: clusterId },
          { joinToken: token, registration: principal.id, ...(machine && { node: machine.node }) },
        ),
      ),
    app.watch,
  );
  const body = JSON.stringify(exchanged);
  response
    .writeHead(201, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body), 'cache-control': 'no-store' })
    .end(body);
}

/** Clients of earlier releases send no body. */
async function readMachine(app: App, { id, org }: Principal, request: IncomingMessage, response: ServerResponse) {
  if (!hasBody(request)) return undefined;
  const held = holdUntilAnswered(app.bodies, { org: org.id, credential: id }, response);
  const bytes = await readBody(request, { ...bodyLimits, held });
  const machine = readJoiningMachine(bytes.length === 0 ? undefined : readJson(bytes, { values: 20 }));
  return typeof machine === 'string' ? invalid(machine) : machine;
}

function makeAuthentication({ app, principals }: JoinPlaneOptions) {
  const attempts = makeAttempts(app);
  const rate = rateLimit(exchangesPerMinute);
  return async (request: IncomingMessage): Promise<Principal> => {
    const key = /^bearer +(\S+) *$/i.exec(request.headers.authorization ?? '')?.[1];
    if (key === undefined)
      throw new Refusal(401, 'unauthenticated', 'unauthenticated: send a registration token as `Authorization: Bearer qd_node_…`');
    const found = principals.find(key, node, (secret, lookup) => attempts.lookUp(request, secret, lookup));
    if (found === undefined) attempts.failed(request); // malformed, or cached as invalid
    const principal = await found;
    if (!principal)
      throw new Refusal(401, 'unauthenticated', 'unauthenticated: the registration token is unknown, disabled, expired or revoked');
    markKnown(request); // many nodes may share one address
    const { allowed, resetSeconds } = rate.take(principal.id);
    if (!allowed) throw tooMany('too many nodes join with this registration token at once', resetSeconds);
    return principal;
  };
}
