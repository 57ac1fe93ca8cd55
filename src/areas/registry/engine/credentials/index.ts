import type { IncomingMessage } from 'node:http';
import { type Attempts, makeAttempts, tooMany } from '../../../../identity/attempts.ts';
import type { LastUsed } from '../../../../identity/last-used.ts';
import { type LookupGate, type Principal, type Principals, reloadShared } from '../../../../identity/principal.ts';
import { hashKey, hashText, type Kind, kindOf } from '../../../../identity/token-format.ts';
import type { App } from '../../../../kernel/app.ts';
import type { Tx } from '../../../../kernel/db/index.ts';
import type { Access } from '../../rules/access.ts';
import { basicLogin, bearerToken, type Login } from '../../rules/authorization.ts';
import { type BearerTokens, makeBearerTokens } from './bearer-tokens.ts';
import type { Clock } from './clock.ts';
import type { CredentialAccess } from './loader.ts';
import type { Grant } from './types.ts';

/** The rights of a request's caller. */
export interface CallerAccess extends Access {
  reload?: () => CallerAccess | undefined | Promise<CallerAccess | undefined>;
  /**
   * The access as the current transaction sees it; the credential cannot be revoked until that transaction ends. Undefined: it was revoked.
   */
  reloadInTransaction?: (tx: Tx) => Promise<Access | undefined>;
}

/** The first call of a transaction that changes something. Throws if the credential no longer has the right. */
export type CheckPermission = (tx: Tx) => Promise<unknown>;

/** The caller of a /v2 request. Undefined: unknown caller, answered with a challenge. */
export type Authenticate = (request: IncomingMessage) => CallerAccess | undefined | Promise<CallerAccess | undefined>;

/** A login with an ID token as password: the user name is `oidc` or `oidc+<slug>`. */
export interface ForeignLogin {
  handles(login: Login): boolean;
  /** The hash of the key for this login. 'nothing': a valid token, and no registry was named. Undefined: an invalid token. */
  resolve(login: Login, slug: string | undefined): Promise<Buffer | 'nothing' | undefined>;
}

export interface Credentials {
  authenticate: Authenticate;
  /** Undefined: wrong, unknown, expired or revoked. Answers 429 when the client's address has had too many failed logins. */
  login(request: IncomingMessage, login: Login, slug: string | undefined): Promise<LoginResult | undefined>;
  bearers: BearerTokens;
}

export interface LoginResult {
  hash: Buffer | undefined;
  access: CredentialAccess;
}

const registryKeys: ReadonlySet<Kind> = new Set(['reg']);
const emptyAccess: CredentialAccess = { keyId: 'oidc', org: '', label: 'oidc', registries: new Map() };
const neverAborted = new AbortController().signal;

export interface CredentialParts {
  app: App;
  principals: Principals;
  clock: Clock;
  lastUsed: LastUsed;
  foreign: ForeignLogin;
}

export function makeCredentials({ app, principals, clock, lastUsed, foreign }: CredentialParts): Credentials {
  const bearers = makeBearerTokens(app, clock);
  const attempts = makeAttempts(app, (seconds) => tooMany('too many failed logins from this address', seconds));
  const accessOf = makeAccessOf(principals, lastUsed);

  const byHash = (hash: Buffer, scopes: Access['scopes']) => {
    const found = principals.findByHash('reg', hash);
    return found instanceof Promise ? found.then((p) => accessOf(p, hash, scopes)) : accessOf(found, hash, scopes);
  };

  const byGrant = (grant: Grant | undefined) => {
    if (!grant?.hash) return grant && { ...emptyAccess, scopes: grant.scopes, signal: neverAborted };
    const access = byHash(grant.hash, grant.scopes);
    const same = (found: CallerAccess | undefined) => (found?.keyId === grant.keyId ? found : undefined);
    return access instanceof Promise ? access.then(same) : same(access);
  };

  const login = makeLogin({ principals, lastUsed, foreign, attempts });

  const withLogin = async (request: IncomingMessage, given: Login): Promise<CallerAccess | undefined> => {
    const opened = await login(request, given, slugOfPath(request.url ?? ''));
    if (!opened?.hash) return opened && { ...opened.access, scopes: undefined, signal: neverAborted };
    return byHash(opened.hash, undefined);
  };

  /** A key is accepted as a bearer token: the answer of an OIDC exchange (RFC 8693) is such a key. */
  const withKey = (request: IncomingMessage, key: string) => {
    const hash = hashKey(key);
    const found = principals.findByHash('reg', hash, asking(attempts, request));
    if (found instanceof Promise) return found.then((p) => accessOf(p, hash, undefined));
    if (!found) attempts.failed(request);
    return accessOf(found, hash, undefined);
  };

  return {
    bearers,
    login,
    authenticate: (request) => {
      const header = request.headers.authorization;
      const token = bearerToken(header);
      if (token !== undefined && kindOf(token) === 'reg') return withKey(request, token);
      if (token !== undefined) {
        const grant = bearers.verify(token);
        return grant instanceof Promise ? grant.then(byGrant) : byGrant(grant);
      }
      const given = basicLogin(header);
      return given && withLogin(request, given);
    },
  };
}

type AccessOf = (principal: Principal | undefined, hash: Buffer, scopes: Access['scopes']) => CallerAccess | undefined;

/** The access of a principal, which a long transfer can reload. */
function makeAccessOf(principals: Principals, lastUsed: LastUsed): AccessOf {
  const accessOf: AccessOf = (principal, hash, scopes) => {
    if (!principal) return undefined;
    lastUsed.used(principal.id);
    const reload = () => {
      const found = principals.findByHash('reg', hash);
      return found instanceof Promise ? found.then((p) => accessOf(p, hash, scopes)) : accessOf(found, hash, scopes);
    };
    const { signal } = principal;
    const reloadInTransaction = async (tx: Tx) => {
      const found = await reloadShared(tx, principal);
      return found && { ...(found.access as CredentialAccess), scopes, signal };
    };
    return { ...(principal.access as CredentialAccess), scopes, signal, reload, reloadInTransaction };
  };
  return accessOf;
}

const asking =
  (attempts: Attempts, request: IncomingMessage): LookupGate =>
  (secret, lookup) =>
    attempts.lookUp(request, secret, lookup);

interface LoginParts extends Pick<CredentialParts, 'principals' | 'lastUsed' | 'foreign'> {
  attempts: Attempts;
}

const makeLogin =
  ({ principals, lastUsed, foreign, attempts }: LoginParts): Credentials['login'] =>
  async (request, given, slug) => {
    const { username, password } = given;
    if (foreign.handles(given))
      return attempts.lookUp(request, hashText(`${username} ${slug} ${password}`), () => resolveForeign(principals, foreign, given, slug));
    const looked = principals.find(password, registryKeys, asking(attempts, request));
    const principal = looked instanceof Promise ? await looked : looked;
    if (!principal || (username !== undefined && username !== principal.id)) {
      if (principal || !(looked instanceof Promise)) attempts.failed(request); // a lookup without a result has already been counted
      return undefined;
    }
    lastUsed.used(principal.id);
    return { hash: hashKey(password), access: principal.access as CredentialAccess };
  };

async function resolveForeign(
  principals: Principals,
  foreign: ForeignLogin,
  given: Login,
  slug: string | undefined,
): Promise<LoginResult | undefined> {
  const hash = await foreign.resolve(given, slug);
  if (hash === undefined) return undefined;
  if (hash === 'nothing') return { hash: undefined, access: emptyAccess };
  const principal = await principals.findByHash('reg', hash);
  return principal && { hash, access: principal.access as CredentialAccess };
}

/** `/v2/<slug>/…` */
const slugOfPath = (path: string): string | undefined => /^\/v2\/([^/?_][^/?]*)\//.exec(path)?.[1];
