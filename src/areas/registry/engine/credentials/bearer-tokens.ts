import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { App } from '../../../../kernel/app.ts';
import { Refusal } from '../../../../kernel/errors.ts';
import type { Action } from '../../rules/access.ts';
import { signingKey } from '../../store/signing-key.ts';
import type { Clock } from './clock.ts';
import type { Grant } from './types.ts';
import { makeVerifiedTokens } from './verified-tokens.ts';

export interface IssuedToken {
  token: string;
  expiresIn: number;
  issuedAt: string;
}

export interface BearerTokens {
  issue(grant: Grant): Promise<IssuedToken>;
  /** Undefined: forged, changed or expired. */
  verify(token: string): Grant | undefined | Promise<Grant | undefined>;
}

const lifetimeSeconds = 600;
/** A token for one to three repositories, as docker asks for, has a few hundred bytes. */
export const maxTokenLength = 8_192;
const sealContext = 'registry.signing_key.sealed.1';
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
  org?: string;
  access: { type: 'repository'; name: string; actions: Action[] }[];
}

export function makeBearerTokens(app: App, clock: Clock): BearerTokens {
  const verified = makeVerifiedTokens(app.caches);
  let key: Promise<Buffer> | undefined;
  const loadedKey = () => {
    key ??= readKey(app).catch((error) => {
      key = undefined;
      throw error;
    });
    return key;
  };
  const mac = async (text: string) =>
    createHmac('sha256', await loadedKey())
      .update(text)
      .digest();

  const check = async (token: string): Promise<Grant | undefined> => {
    const claims = await readClaims(token, mac);
    const left = claims ? claims.exp * 1000 - (await clock()) : 0;
    if (!claims || left <= 0) return undefined;
    const grant = grantOf(claims);
    verified.keep(token, grant, left);
    return grant;
  };

  return {
    issue: async ({ hash, keyId, org, scopes }) => {
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
        ...(org ? { org } : {}),
        access: [...scopes].map(([name, actions]) => ({ type: 'repository', name, actions: [...actions] })),
      };
      const body = `${header}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}`;
      const token = `${body}.${(await mac(body)).toString('base64url')}`;
      if (token.length > maxTokenLength)
        throw new Refusal(400, 'invalid_scope', 'a token for so many repositories would be too long; ask for fewer at once');
      return {
        token,
        expiresIn: lifetimeSeconds,
        issuedAt: new Date(now * 1000).toISOString(),
      };
    },
    verify: (token) => {
      if (token.length > maxTokenLength) return undefined; // we issue none of this length
      return verified.find(token) ?? check(token);
    },
  };
}

/** One header and one algorithm are accepted, so a forged header has nothing to choose. */
async function readClaims(token: string, mac: (text: string) => Promise<Buffer>): Promise<Claims | undefined> {
  const end = token.lastIndexOf('.');
  if (!token.startsWith(`${header}.`) || end <= header.length) return undefined;
  const given = Buffer.from(token.slice(end + 1), 'base64url');
  const wanted = await mac(token.slice(0, end));
  if (given.length !== wanted.length || !timingSafeEqual(given, wanted)) return undefined;
  return JSON.parse(Buffer.from(token.slice(header.length + 1, end), 'base64url').toString()) as Claims;
}

const grantOf = ({ key, sub, org, access }: Claims): Grant => ({
  hash: key === undefined ? undefined : Buffer.from(key, 'base64url'),
  keyId: sub,
  org: org ?? '',
  scopes: new Map(access.map(({ name, actions }) => [name, new Set(actions)])),
});

async function readKey(app: App): Promise<Buffer> {
  const fresh = () => app.secrets.seal(randomBytes(32).toString('base64'), sealContext);
  const sealed = await app.db.write((tx) => signingKey(tx, fresh));
  return Buffer.from(app.secrets.unseal(sealed, sealContext), 'base64');
}
