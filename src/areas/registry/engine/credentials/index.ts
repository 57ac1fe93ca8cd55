import type { IncomingMessage } from 'node:http';
import { type Attempts, makeAttempts, tooMany } from '../../../../identity/attempts.ts';
import type { LastUsed } from '../../../../identity/last-used.ts';
import type { Ask, Principal, Principals } from '../../../../identity/principal.ts';
import { reloadShared } from '../../../../identity/rights-lock.ts';
import { hashKey, hashText, type Kind, kindOf } from '../../../../identity/token-format.ts';
import type { App } from '../../../../kernel/app.ts';
import type { Tx } from '../../../../kernel/db/index.ts';
import type { Access } from '../../rules/access.ts';
import { basicLogin, bearerToken, type Login } from '../../rules/authorization.ts';
import { type Bearers, type Grant, makeBearers } from './bearer.ts';
import type { Clock } from './clock.ts';
import type { Held } from './loader.ts';

/** What the caller of a request may reach. */
export interface CallerAccess extends Access {
  again?: () => CallerAccess | undefined | Promise<CallerAccess | undefined>;
  /** The same, read in the transaction that changes something: until that ends, the credential cannot be revoked. Undefined: it was. */
  within?: (tx: Tx) => Promise<Access | undefined>;
}

/** Begins a transaction that changes something: throws if the credential may not do that any more. */
export type Allow = (tx: Tx) => Promise<unknown>;

/** Who is asking on /v2. Undefined: nobody we know, which is answered with a challenge. */
export type Authenticate = (request: IncomingMessage) => CallerAccess | undefined | Promise<CallerAccess | undefined>;

/** A login that names no key of ours: `oidc` or `oidc+<slug>` with an ID token as password. */
export interface ForeignLogin {
  takes(login: Login): boolean;
  /** The hash of the key it opens; 'nothing' for a good token that was not asked for a registry; undefined for a bad one. */
  open(login: Login, slug: string | undefined): Promise<Buffer | 'nothing' | undefined>;
}

export interface Credentials {
  authenticate: Authenticate;
  /** Undefined: wrong, unknown, expired or revoked. Refused with 429 once the request's address has had too many of these. */
  login(request: IncomingMessage, login: Login, slug: string | undefined): Promise<Opened | undefined>;
  bearers: Bearers;
}

export interface Opened {
  hash: Buffer | undefined;
  access: Held;
}

const registryKeys: ReadonlySet<Kind> = new Set(['reg']);
const nothing: Held = { keyId: 'oidc', org: '', label: 'oidc', registries: new Map() };
const never = new AbortController().signal;

export interface CredentialParts {
  app: App;
  principals: Principals;
  clock: Clock;
  lastUsed: LastUsed;
  foreign: ForeignLogin;
}

export function makeCredentials({ app, principals, clock, lastUsed, foreign }: CredentialParts): Credentials {
  const bearers = makeBearers(app, clock);
  const attempts = makeAttempts(app, (seconds) => tooMany('too many failed logins from this address', seconds));
  const accessOf = makeAccessOf(principals, lastUsed);

  const byHash = (hash: Buffer, scopes: Access['scopes']) => {
    const found = principals.findByHash('reg', hash);
    return found instanceof Promise ? found.then((p) => accessOf(p, hash, scopes)) : accessOf(found, hash, scopes);
  };

  const byGrant = (grant: Grant | undefined) => {
    if (!grant?.hash) return grant && { ...nothing, scopes: grant.scopes, signal: never };
    const access = byHash(grant.hash, grant.scopes);
    const same = (found: CallerAccess | undefined) => (found?.keyId === grant.keyId ? found : undefined);
    return access instanceof Promise ? access.then(same) : same(access);
  };

  const login = makeLogin({ principals, lastUsed, foreign, attempts });

  const withLogin = async (request: IncomingMessage, given: Login): Promise<CallerAccess | undefined> => {
    const opened = await login(request, given, slugOfPath(request.url ?? ''));
    if (!opened?.hash) return opened && { ...opened.access, scopes: undefined, signal: never };
    return byHash(opened.hash, undefined);
  };

  /** A key itself may be the bearer: that is what the answer of an OIDC exchange (RFC 8693) is good for. */
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

/** What a principal may reach; a long transfer can ask for it anew. */
function makeAccessOf(principals: Principals, lastUsed: LastUsed): AccessOf {
  const accessOf: AccessOf = (principal, hash, scopes) => {
    if (!principal) return undefined;
    lastUsed.used(principal.id);
    const again = () => {
      const found = principals.findByHash('reg', hash);
      return found instanceof Promise ? found.then((p) => accessOf(p, hash, scopes)) : accessOf(found, hash, scopes);
    };
    const { signal } = principal;
    const within = async (tx: Tx) => {
      const found = await reloadShared(tx, principal);
      return found && { ...(found.access as Held), scopes, signal };
    };
    return { ...(principal.access as Held), scopes, signal, again, within };
  };
  return accessOf;
}

const asking =
  (attempts: Attempts, request: IncomingMessage): Ask =>
  (secret, lookup) =>
    attempts.look(request, secret, lookup);

interface LoginParts extends Pick<CredentialParts, 'principals' | 'lastUsed' | 'foreign'> {
  attempts: Attempts;
}

const makeLogin =
  ({ principals, lastUsed, foreign, attempts }: LoginParts): Credentials['login'] =>
  async (request, given, slug) => {
    const { username, password } = given;
    if (foreign.takes(given))
      return attempts.look(request, hashText(`${username} ${slug} ${password}`), () => openForeign(principals, foreign, given, slug));
    const looked = principals.find(password, registryKeys, asking(attempts, request));
    const principal = looked instanceof Promise ? await looked : looked;
    if (!principal || (username !== undefined && username !== principal.id)) {
      if (principal || !(looked instanceof Promise)) attempts.failed(request); // a lookup that found nothing was counted before
      return undefined;
    }
    lastUsed.used(principal.id);
    return { hash: hashKey(password), access: principal.access as Held };
  };

async function openForeign(
  principals: Principals,
  foreign: ForeignLogin,
  given: Login,
  slug: string | undefined,
): Promise<Opened | undefined> {
  const hash = await foreign.open(given, slug);
  if (hash === undefined) return undefined;
  if (hash === 'nothing') return { hash: undefined, access: nothing };
  const principal = await principals.findByHash('reg', hash);
  return principal && { hash, access: principal.access as Held };
}

/** `/v2/<slug>/…` */
const slugOfPath = (path: string): string | undefined => /^\/v2\/([^/?_][^/?]*)\//.exec(path)?.[1];
