import type { createLocalJWKSet, JSONWebKeySet, JWTPayload } from 'jose';
import { LRUCache } from 'lru-cache';
import type { Guard, Timeouts } from '../../../kernel/guard/index.ts';
import type { Logger } from '../../../kernel/log.ts';
import { badIssuer } from '../rules/issuer.ts';

// An issuer's keys are fetched through the guard and cached. They are fetched again early only when a token names an unknown key id, since
// a rotation looks like that. A client that invents key ids causes at most one fetch in 30 s.

/** The token is not valid. The reason goes to the log; the client learns only that no rule matches. */
export class BadToken extends Error {}

export class IssuerUnreachable extends Error {
  readonly issuer: string;

  constructor(issuer: string, cause: unknown) {
    super(`the issuer ${issuer} cannot be reached`, { cause });
    this.name = 'IssuerUnreachable';
    this.issuer = issuer;
  }
}

/** The identity that a token claims. */
export interface IdentityClaims {
  subject: string;
  audiences: string[];
}

export interface Issuers {
  /** The claims of a token that this issuer signed and that is valid now. */
  verify(issuer: string, token: string): Promise<IdentityClaims>;
}

type Keys = ReturnType<typeof createLocalJWKSet>;

interface IssuerKeys {
  keys: Keys | undefined;
  fetchedAt: number;
  triedAt: number;
  failure: unknown;
  fetching: Promise<void> | undefined;
}

const keyTimes = { freshMs: 600_000, staleMs: 3_600_000, rotationMs: 30_000, failureMs: 10_000 };
const algorithms = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'];
const fetchTimeouts: Timeouts = { connectMs: 3_000, headersMs: 5_000, idleMs: 3_000, totalMs: 5_000 };

export interface IssuerParts {
  guard: Guard;
  log: Logger;
  /** The product's time in milliseconds. */
  clock: () => Promise<number>;
  /** Whether an issuer at this address may speak plain http. */
  mayBePlain: (host: string) => boolean;
  timeouts?: Timeouts;
  monotonic?: () => number;
}

export function makeIssuers({ clock, ...parts }: IssuerParts): Issuers {
  const known = new LRUCache<string, IssuerKeys>({ max: 1_000 });
  const keysOf = makeKeysOf(parts, known);
  return {
    verify: async (issuer, token) => {
      const { errors, jwtVerify } = await import('jose');
      for (const rotated of [false, true]) {
        const keys = await keysOf(issuer, rotated);
        if (!keys) throw new IssuerUnreachable(issuer, known.get(issuer)?.failure);
        const currentDate = new Date(await clock()); // a failure to read the clock is not the token's fault
        try {
          const options = {
            issuer,
            algorithms,
            clockTolerance: toleranceSeconds,
            requiredClaims: ['exp', 'iat', 'sub', 'aud'],
            currentDate,
          };
          const { payload } = await jwtVerify(token, keys, options);
          refuseOddTimes(payload, currentDate.getTime() / 1000);
          return readIdentity(payload);
        } catch (error) {
          if (error instanceof errors.JWKSNoMatchingKey && !rotated) continue;
          throw new BadToken((error as Error).message);
        }
      }
      throw new BadToken('no key of the issuer signed it');
    },
  };
}

/** Tolerated clock difference. */
const toleranceSeconds = 60;
const maxAudiences = 100;
/** CI issuers sign tokens for minutes, or for one job. A token that lives longer is a password in the wrong place. */
const maxLifetimeSeconds = 86_400;

/** A token can be used until it expires, so its lifetime is limited, and `iat` may not be in the future to extend it. */
function refuseOddTimes({ iat = 0, exp = 0 }: JWTPayload, now: number) {
  if (iat > now + toleranceSeconds) throw new BadToken(`it was issued ${Math.round(iat - now)} s in the future`);
  if (exp - iat > maxLifetimeSeconds) throw new BadToken(`it lives ${exp - iat} s, longer than a day`);
}

/** Whether a claim can be compared with rules and stored. PostgreSQL accepts neither NUL nor half of a surrogate pair. */
export const isClaimText = (value: unknown): value is string => typeof value === 'string' && !value.includes('\0') && value.isWellFormed();

/** An issuer may sign any JSON, so a signature says nothing of a claim's type (RFC 7519, 4.1). */
function readIdentity({ sub, aud }: JWTPayload): IdentityClaims {
  const audiences: unknown[] = Array.isArray(aud) ? aud.slice(0, maxAudiences) : [aud];
  if (!isClaimText(sub)) throw new BadToken('its sub is no text');
  if (!audiences.every(isClaimText)) throw new BadToken('its aud is neither text nor a list of texts');
  return { subject: sub, audiences };
}

/** The issuer's keys, fetched when they are stale and the fetch interval allows it. Undefined: no valid keys are known. */
function makeKeysOf(parts: Omit<IssuerParts, 'clock'>, known: LRUCache<string, IssuerKeys>) {
  const { monotonic = () => performance.now() } = parts;

  const refresh = (issuer: string, entry: IssuerKeys) => {
    entry.fetching ??= (async () => {
      entry.triedAt = monotonic();
      try {
        entry.keys = await fetchKeys(parts, issuer);
        entry.fetchedAt = monotonic();
        entry.failure = undefined;
      } catch (error) {
        entry.failure = error;
        parts.log.warn({ issuer, error: (error as Error).message }, 'the keys of an OIDC issuer cannot be fetched');
      } finally {
        entry.fetching = undefined;
      }
    })();
    return entry.fetching;
  };

  return async (issuer: string, rotated: boolean): Promise<Keys | undefined> => {
    const entry: IssuerKeys = known.get(issuer) ?? {
      keys: undefined,
      fetchedAt: -Infinity,
      triedAt: -Infinity,
      failure: undefined,
      fetching: undefined,
    };
    known.set(issuer, entry);
    const now = monotonic();
    const wanted = now - entry.fetchedAt > (rotated ? keyTimes.rotationMs : keyTimes.freshMs);
    const allowed = now - entry.triedAt > (entry.failure ? keyTimes.failureMs : keyTimes.rotationMs);
    if (entry.fetching || (wanted && allowed)) await refresh(issuer, entry);
    if (!entry.keys || monotonic() - entry.fetchedAt > keyTimes.staleMs) return undefined;
    return entry.keys;
  };
}

type Fetching = Pick<IssuerParts, 'guard' | 'mayBePlain' | 'timeouts'>;

async function fetchKeys(parts: Fetching, issuer: string): Promise<Keys> {
  const discovered = await fetchObject(parts, `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`);
  // OpenID Connect Discovery 4.3: the document must name the issuer it was fetched from.
  if (discovered['issuer'] !== issuer) throw new Error(`the discovery document is of ${String(discovered['issuer']).slice(0, 200)}`);
  const address = discovered['jwks_uri'];
  if (typeof address !== 'string' || !URL.canParse(address)) throw new Error('the discovery document names no jwks_uri');
  const { protocol, hostname } = new URL(address);
  if (protocol !== 'https:' && badIssuer(`${protocol}//${hostname}`, parts.mayBePlain)) throw new Error('the jwks_uri is not https');
  const found = await fetchObject(parts, address);
  if (!Array.isArray(found['keys']) || found['keys'].length > 100) throw new Error('the key set has no keys, or too many');
  return (await import('jose')).createLocalJWKSet(found as unknown as JSONWebKeySet);
}

async function fetchObject({ guard, timeouts = fetchTimeouts }: Fetching, url: string): Promise<Record<string, unknown>> {
  const answer = await guard.fetch('oidc', url, { timeouts, maxBodyBytes: 262_144, headers: { accept: 'application/json' } });
  if (answer.status !== 200) {
    answer.cancel();
    throw new Error(`${url} answered ${answer.status}`);
  }
  const found = await answer.json();
  if (typeof found !== 'object' || found === null) throw new Error(`${url} answered with something else than an object`);
  return found as Record<string, unknown>;
}
