import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { App } from '../../../../kernel/app.ts';
import type { Action } from '../../rules/access.ts';
import { signingKey } from '../../store/signing-key.ts';
import type { Clock } from './clock.ts';

/** What a bearer token says: which credential it was given for, and what for. What that credential may do is asked anew every time. */
export interface Grant {
  /** The credential's hash; undefined for a login that reaches nothing yet (see engine/oidc.ts). */
  hash: Buffer | undefined;
  keyId: string;
  scopes: ReadonlyMap<string, ReadonlySet<Action>>;
}

export interface Issued {
  token: string;
  expiresIn: number;
  issuedAt: string;
}

export interface Bearers {
  issue(grant: Grant): Promise<Issued>;
  /** Undefined: not ours, changed, or over. */
  verify(token: string): Grant | undefined | Promise<Grant | undefined>;
}

const lifetimeSeconds = 600;
const place = 'registry.signing_key.sealed.1';
const header = Buffer.from('{"alg":"HS256","typ":"JWT"}').toString('base64url');

interface Claims {
  iss: string;
  aud: string;
  sub: string;
  iat: number;
  nbf: number;
  exp: number;
  jti: string;
  key?: string;
  access: { type: 'repository'; name: string; actions: Action[] }[];
}

export function makeBearers(app: App, clock: Clock): Bearers {
  // A verified token is a map lookup from then on: checking a signature on each request halved the rate.
  const verified = app.caches.make<Grant>({ max: 20_000 });
  let key: Promise<Buffer> | undefined;
  const theKey = () => {
    key ??= readKey(app).catch((error) => {
      key = undefined;
      throw error;
    });
    return key;
  };
  const mac = async (text: string) =>
    createHmac('sha256', await theKey())
      .update(text)
      .digest();

  return {
    issue: async ({ hash, keyId, scopes }) => {
      const now = Math.floor((await clock()) / 1000);
      const claims: Claims = {
        iss: app.publicUrl(),
        aud: new URL(app.publicUrl()).host,
        sub: keyId,
        iat: now,
        nbf: now,
        exp: now + lifetimeSeconds,
        jti: randomBytes(9).toString('base64url'),
        ...(hash ? { key: hash.toString('base64url') } : {}),
        access: [...scopes].map(([name, actions]) => ({ type: 'repository', name, actions: [...actions] })),
      };
      const body = `${header}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}`;
      return {
        token: `${body}.${(await mac(body)).toString('base64url')}`,
        expiresIn: lifetimeSeconds,
        issuedAt: new Date(now * 1000).toISOString(),
      };
    },
    verify: (token) =>
      verified.peek(token) ??
      verified.get(token, async () => {
        const claims = await read(token, mac);
        const left = claims ? claims.exp * 1000 - (await clock()) : 0;
        return claims && left > 0 ? { value: grantOf(claims), topics: [], ttlMs: left } : undefined;
      }),
  };
}

/** One header and one algorithm: there is nothing for a forged header to choose. */
async function read(token: string, mac: (text: string) => Promise<Buffer>): Promise<Claims | undefined> {
  const end = token.lastIndexOf('.');
  if (!token.startsWith(`${header}.`) || end <= header.length) return undefined;
  const given = Buffer.from(token.slice(end + 1), 'base64url');
  const wanted = await mac(token.slice(0, end));
  if (given.length !== wanted.length || !timingSafeEqual(given, wanted)) return undefined;
  return JSON.parse(Buffer.from(token.slice(header.length + 1, end), 'base64url').toString()) as Claims;
}

const grantOf = ({ key, sub, access }: Claims): Grant => ({
  hash: key === undefined ? undefined : Buffer.from(key, 'base64url'),
  keyId: sub,
  scopes: new Map(access.map(({ name, actions }) => [name, new Set(actions)])),
});

async function readKey(app: App): Promise<Buffer> {
  const fresh = () => app.secrets.seal(randomBytes(32).toString('base64'), place);
  const sealed = await app.db.write((tx) => signingKey(tx, fresh));
  return Buffer.from(app.secrets.unseal(sealed, place), 'base64');
}
