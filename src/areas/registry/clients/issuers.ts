import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTPayload, jwtVerify } from 'jose';
import { LRUCache } from 'lru-cache';
import type { App } from '../../../kernel/app.ts';
import type { Timeouts } from '../../../kernel/guard/index.ts';
import type { Clock } from '../engine/credentials/clock.ts';
import { badIssuer } from '../rules/issuer.ts';

// Issuers' keys, fetched through the guard, kept for a while, and fetched again early only when a token names a key that is not among
// them, since that is what a rotation looks like. Somebody who makes up key ids cannot turn us against an issuer: one fetch in 30 s.

/** The token is not good. Why is for the log: whoever sent it learns only that no rule matches. */
export class BadToken extends Error {}

export interface Issuers {
  /** The claims of a token that this issuer signed and that is valid now. */
  verify(issuer: string, token: string): Promise<JWTPayload>;
}

interface Known {
  keys: ReturnType<typeof createLocalJWKSet> | undefined;
  fetchedAt: number;
  triedAt: number;
  failure: unknown;
  fetching: Promise<void> | undefined;
}

const times = { freshMs: 600_000, staleMs: 3_600_000, rotationMs: 30_000, failureMs: 10_000 };
const algorithms = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'];
const patience: Timeouts = { connectMs: 3_000, headersMs: 5_000, idleMs: 3_000, totalMs: 5_000 };

interface Limits {
  timeouts?: Timeouts;
  monotonic?: () => number;
}

export function makeIssuers(app: App, clock: Clock, mayBePlain: (host: string) => boolean, limits: Limits = {}): Issuers {
  const { timeouts = patience, monotonic = () => performance.now() } = limits;
  const known = new LRUCache<string, Known>({ max: 1_000 });

  const json = async (url: string): Promise<Record<string, unknown>> => {
    const answer = await app.guard.fetch('oidc', url, { timeouts, maxBodyBytes: 262_144, headers: { accept: 'application/json' } });
    if (answer.status !== 200) {
      answer.cancel();
      throw new Error(`${url} answered ${answer.status}`);
    }
    const found = await answer.json();
    if (typeof found !== 'object' || found === null) throw new Error(`${url} answered with something else than an object`);
    return found as Record<string, unknown>;
  };

  const fetchKeys = async (issuer: string) => {
    const discovered = await json(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`);
    // Discovery 4.3: a document that speaks for another issuer speaks for nobody.
    if (discovered['issuer'] !== issuer) throw new Error(`the discovery document is of ${String(discovered['issuer']).slice(0, 200)}`);
    const address = discovered['jwks_uri'];
    if (typeof address !== 'string' || !URL.canParse(address)) throw new Error('the discovery document names no jwks_uri');
    const { protocol, hostname } = new URL(address);
    if (protocol !== 'https:' && badIssuer(`${protocol}//${hostname}`, mayBePlain)) throw new Error('the jwks_uri is not https');
    const found = await json(address);
    if (!Array.isArray(found['keys']) || found['keys'].length > 100) throw new Error('the key set has no keys, or too many');
    return createLocalJWKSet(found as unknown as JSONWebKeySet);
  };

  const refresh = (issuer: string, entry: Known) => {
    entry.fetching ??= (async () => {
      entry.triedAt = monotonic();
      try {
        entry.keys = await fetchKeys(issuer);
        entry.fetchedAt = monotonic();
        entry.failure = undefined;
      } catch (error) {
        entry.failure = error;
        app.log.warn({ issuer, error: (error as Error).message }, 'the keys of an OIDC issuer cannot be fetched');
      } finally {
        entry.fetching = undefined;
      }
    })();
    return entry.fetching;
  };

  const keysOf = async (issuer: string, rotated: boolean) => {
    const entry: Known = known.get(issuer) ?? {
      keys: undefined,
      fetchedAt: -Infinity,
      triedAt: -Infinity,
      failure: undefined,
      fetching: undefined,
    };
    known.set(issuer, entry);
    const now = monotonic();
    const wanted = now - entry.fetchedAt > (rotated ? times.rotationMs : times.freshMs);
    const allowed = now - entry.triedAt > (entry.failure ? times.failureMs : times.rotationMs);
    if (entry.fetching || (wanted && allowed)) await refresh(issuer, entry);
    if (!entry.keys || monotonic() - entry.fetchedAt > times.staleMs) return undefined;
    return entry.keys;
  };

  return {
    verify: async (issuer, token) => {
      for (const rotated of [false, true]) {
        const keys = await keysOf(issuer, rotated);
        if (!keys) throw new IssuerAway(issuer, known.get(issuer)?.failure);
        try {
          const options = {
            issuer,
            algorithms,
            clockTolerance: 60,
            requiredClaims: ['exp', 'iat', 'sub', 'aud'],
            currentDate: new Date(await clock()),
          };
          return (await jwtVerify(token, keys, options)).payload;
        } catch (error) {
          if (error instanceof errors.JWKSNoMatchingKey && !rotated) continue;
          throw new BadToken((error as Error).message);
        }
      }
      throw new BadToken('no key of the issuer signed it');
    },
  };
}

export class IssuerAway extends Error {
  readonly issuer: string;

  constructor(issuer: string, cause: unknown) {
    super(`the issuer ${issuer} cannot be reached`, { cause });
    this.name = 'IssuerAway';
    this.issuer = issuer;
  }
}
