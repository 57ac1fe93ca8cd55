import type { IncomingMessage } from 'node:http';
import type { Principal, Principals } from '../../../identity/principal.ts';
import { rateLimit } from '../../../identity/rate-limit.ts';
import { hashKey, type Kind, kindOf } from '../../../identity/token-format.ts';
import type { App } from '../../../kernel/app.ts';
import { Refusal } from '../../../kernel/errors.ts';
import { peerOf } from '../../../kernel/http/peer.ts';
import type { Access, Authenticate } from '../access.ts';
import { basicLogin, bearerToken, type Login } from './basic.ts';
import { type Bearers, type Grant, makeBearers } from './bearer.ts';
import type { Clock } from './clock.ts';
import type { LastUsed } from './last-used.ts';
import type { Held } from './loader.ts';

/** An Access that a long transfer can ask anew: after a drop, and beyond the life of the bearer token that began it. */
export interface Renewable extends Access {
  again(): Access | undefined | Promise<Access | undefined>;
}

/** A login that names no key of ours: `oidc` or `oidc+<slug>` with an ID token as password. */
export interface ForeignLogin {
  takes(login: Login): boolean;
  /** The hash of the key it opens; 'nothing' for a good token that was not asked for a registry; undefined for a bad one. */
  open(login: Login, slug: string | undefined): Promise<Buffer | 'nothing' | undefined>;
}

export interface Credentials {
  authenticate: Authenticate;
  /** Undefined: wrong, unknown, expired or revoked. */
  login(login: Login, slug: string | undefined): Promise<Opened | undefined>;
  bearers: Bearers;
  /** To be thrown for a failed attempt: 429 once an address has had too many. */
  failed(request: IncomingMessage): Refusal | undefined;
}

export interface Opened {
  hash: Buffer | undefined;
  access: Held;
}

const registryKeys: ReadonlySet<Kind> = new Set(['reg']);
/** Wrong logins a minute from one address before it is made to wait. */
const failuresPerMinute = 60;
const nothing: Held = { keyId: 'oidc', org: '', label: 'oidc', registries: new Map() };
const never = new AbortController().signal;

export interface CredentialParts {
  app: App;
  principals: Principals;
  clock: Clock;
  lastUsed: LastUsed;
  foreign?: ForeignLogin;
}

export function makeCredentials({ app, principals, clock, lastUsed, foreign }: CredentialParts): Credentials {
  const bearers = makeBearers(app, clock);
  const failures = rateLimit(failuresPerMinute);
  const peer = peerOf(app.config.trusted_proxies);

  const failed = (request: IncomingMessage) => {
    const { allowed, resetSeconds } = failures.take(peer(request));
    if (allowed) return undefined;
    return new Refusal(429, 'rate_limited', `too many failed logins from this address; try again in ${resetSeconds} s`, {
      headers: { 'retry-after': String(resetSeconds) },
    });
  };

  const accessOf = (principal: Principal | undefined, hash: Buffer, scopes: Access['scopes']): Renewable | undefined => {
    if (!principal) return undefined;
    lastUsed.used(principal.id);
    const again = () => {
      const found = principals.findByHash('reg', hash);
      return found instanceof Promise ? found.then((p) => accessOf(p, hash, scopes)) : accessOf(found, hash, scopes);
    };
    return { ...(principal.access as Held), scopes, signal: principal.signal, again };
  };

  const byHash = (hash: Buffer, scopes: Access['scopes']) => {
    const found = principals.findByHash('reg', hash);
    return found instanceof Promise ? found.then((p) => accessOf(p, hash, scopes)) : accessOf(found, hash, scopes);
  };

  const byGrant = (grant: Grant | undefined) => {
    if (!grant?.hash) return grant && { ...nothing, scopes: grant.scopes, signal: never };
    const access = byHash(grant.hash, grant.scopes);
    const same = (found: Renewable | undefined) => (found?.keyId === grant.keyId ? found : undefined);
    return access instanceof Promise ? access.then(same) : same(access);
  };

  const login: Credentials['login'] = async ({ username, password }, slug) => {
    if (foreign?.takes({ username, password })) {
      const hash = await foreign.open({ username, password }, slug);
      if (hash === undefined) return undefined;
      if (hash === 'nothing') return { hash: undefined, access: nothing };
      const principal = await principals.findByHash('reg', hash);
      return principal && { hash, access: principal.access as Held };
    }
    const principal = await principals.find(password, registryKeys);
    if (!principal || (username !== undefined && username !== principal.id)) return undefined;
    lastUsed.used(principal.id);
    return { hash: hashKey(password), access: principal.access as Held };
  };

  const withLogin = async (request: IncomingMessage, given: Login): Promise<Access | undefined> => {
    const opened = await login(given, slugOfPath(request.url ?? ''));
    if (!opened) throwIf(failed(request));
    if (!opened?.hash) return opened && { ...opened.access, scopes: undefined, signal: never };
    return byHash(opened.hash, undefined);
  };

  return {
    bearers,
    failed,
    login,
    authenticate: (request) => {
      const header = request.headers.authorization;
      const token = bearerToken(header);
      // A key itself may be the bearer: that is what the answer of an OIDC exchange (RFC 8693) is good for.
      if (token !== undefined && kindOf(token) === 'reg') return byHash(hashKey(token), undefined);
      if (token !== undefined) {
        const grant = bearers.verify(token);
        return grant instanceof Promise ? grant.then(byGrant) : byGrant(grant);
      }
      const given = basicLogin(header);
      return given && withLogin(request, given);
    },
  };
}

function throwIf(refusal: Refusal | undefined) {
  if (refusal) throw refusal;
}

/** `/v2/<slug>/…` */
const slugOfPath = (path: string): string | undefined => /^\/v2\/([^/?_][^/?]*)\//.exec(path)?.[1];
