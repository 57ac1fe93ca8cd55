import type { IncomingMessage, ServerResponse } from 'node:http';
import type { App } from '../../../../kernel/app.ts';
import { Refusal } from '../../../../kernel/errors.ts';
import { holdUntilAnswered, readBody } from '../../../../kernel/http/body.ts';
import { type Plane, refusalFor } from '../../../../kernel/http/plane.ts';
import type { Credentials } from '../../engine/credentials/index.ts';
import { basicLogin, type Login } from '../../rules/authorization.ts';
import { granted, parseScopes, scopeText, slugOf } from '../../rules/scope.ts';

// The token service of the distribution project: GET with Basic (docker, skopeo, podman), POST as an OAuth 2.0 form (containerd).

interface TokenRequest {
  login: Login | undefined;
  scopes: string[];
  /** Whether the client wants a refresh token instead of storing the password. */
  offline: boolean;
}

/** The token service, at /token. */
export const tokenPlane = (app: App, credentials: Credentials): Plane => ({
  name: 'token',
  role: 'registry',
  owns: ({ url = '' }) => url === '/token' || url.startsWith('/token?'),
  open: () => (request, response) => answerRequest(app, request, response, credentials),
  refuse: sendRefusal,
});

async function answerRequest(app: App, request: IncomingMessage, response: ServerResponse, credentials: Credentials) {
  const { login, scopes: texts, offline } = await readTokenRequest(app, request, response);
  const scopes = parseScopes(texts);
  const opened = login && (await credentials.login(request, login, slugOf(scopes)));
  if (!opened)
    throw new Refusal(401, 'UNAUTHORIZED', login ? wrongLogin : noLogin, { headers: { 'www-authenticate': 'Basic realm="registry"' } });
  const rest = app.watch.takeTurn({ org: opened.access.org, operation: 'token' });
  if (rest) await rest;
  const grants = granted(opened.access, scopes);
  const issued = await credentials.bearers.issue({ hash: opened.hash, keyId: opened.access.keyId, org: opened.access.org, scopes: grants });
  send(response, 200, {
    token: issued.token,
    access_token: issued.token,
    token_type: 'Bearer',
    scope: scopeText(grants),
    expires_in: issued.expiresIn,
    issued_at: issued.issuedAt,
    // The refresh token is the credential itself, so it expires and is revoked with it.
    ...(offline && opened.hash && !isForeign(login!) ? { refresh_token: login!.password } : {}),
  });
}

const isForeign = ({ username = '' }: Login) => username === 'oidc' || username.startsWith('oidc+');
const wrongLogin = 'the user name and password are wrong, expired or revoked; mint a new registry key or log in again';
const noLogin = 'log in first: every registry here needs a login, also for pulling';

async function readTokenRequest(app: App, request: IncomingMessage, response: ServerResponse): Promise<TokenRequest> {
  if (request.method === 'GET') {
    const query = new URL(request.url!, 'http://here').searchParams;
    return {
      login: basicLogin(request.headers.authorization),
      scopes: query.getAll('scope'),
      offline: query.get('offline_token') === 'true',
    };
  }
  if (request.method !== 'POST')
    throw new Refusal(405, 'UNSUPPORTED', 'ask for a token with GET or POST', { headers: { allow: 'GET, POST' } });
  const held = holdUntilAnswered(app.bodies, { address: app.peers.of(request) }, response);
  const form = new URLSearchParams((await readBody(request, { maxBytes: 65_536, totalMs: 15_000, held })).toString());
  const scopes = form.getAll('scope');
  const offline = form.get('access_type') === 'offline';
  switch (form.get('grant_type')) {
    case 'password':
      return { login: { username: form.get('username') ?? '', password: form.get('password') ?? '' }, scopes, offline };
    case 'refresh_token':
      return { login: { username: undefined, password: form.get('refresh_token') ?? '' }, scopes, offline };
    default:
      throw new Refusal(400, 'unsupported_grant_type', 'grant_type must be password or refresh_token');
  }
}

function send(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}) {
  const text = JSON.stringify(body);
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-store',
    ...headers,
  });
  response.end(text);
}

/** GET clients read `errors`; OAuth clients read `error` and `error_description`. */
function sendRefusal(request: IncomingMessage, response: ServerResponse, error: unknown) {
  const refusal = refusalFor(error, request);
  const oauth = refusal.status === 401 ? 'invalid_grant' : refusal.status === 400 ? refusal.code : 'temporarily_unavailable';
  const code = refusal.status === 429 ? 'TOOMANYREQUESTS' : refusal.status === 401 ? 'UNAUTHORIZED' : 'UNSUPPORTED';
  if (!request.complete) response.setHeader('connection', 'close');
  send(
    response,
    refusal.status,
    { errors: [{ code, message: refusal.message }], error: oauth, error_description: refusal.message },
    refusal.headers,
  );
}
