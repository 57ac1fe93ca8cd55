import { createHmac } from 'node:crypto';
import http, { type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';

/** A small OpenID issuer on loopback, with real keys, that misbehaves when it is told to. */
export interface OidcIssuer {
  url: string;
  /** An ID token; claims given as undefined are left out. */
  token(claims?: Record<string, unknown>, how?: Signing): Promise<string>;
  /** New keys under a new id; the old ones are gone from the published set. */
  rotate(): Promise<void>;
  /** What it answers from now on. */
  behave(mode: Mode): void;
  /** How often the discovery document and the keys were asked for. */
  asked: { discovery: number; keys: number };
}

type Mode = 'well' | 'slow' | 'huge' | 'down' | 'not-json' | 'another-issuer' | 'no-keys';

interface Signing {
  /** `none` and `HS256` are forgeries: unsigned, and signed with the public key as if it were a shared secret. */
  alg?: 'RS256' | 'ES256' | 'none' | 'HS256';
  kid?: string;
  /** Signed by a key that the issuer never published, under the id of one that it did. */
  stranger?: boolean;
  expiresIn?: number;
}

interface Pair {
  kid: string;
  privateKey: CryptoKey;
  jwk: JWK;
}

let generation = 0;
async function pairFor(alg: string): Promise<Pair> {
  const kid = `${alg}-${++generation}`;
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  return { kid, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' } };
}

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

export async function oidcIssuer(t: TestContext, now: () => Promise<number>): Promise<OidcIssuer> {
  let keys = { RS256: await pairFor('RS256'), ES256: await pairFor('ES256') };
  let mode: Mode = 'well';
  const asked = { discovery: 0, keys: 0 };

  const answer = (response: ServerResponse, body: unknown) => {
    if (mode === 'slow') return; // never: the other side must give up by itself
    if (mode === 'down') return void response.writeHead(500).end();
    response.writeHead(200, { 'content-type': 'application/json' });
    if (mode === 'not-json') return void response.end('<html>');
    response.end(mode === 'huge' ? JSON.stringify({ ...(body as object), padding: 'x'.repeat(2 ** 20) }) : JSON.stringify(body));
  };
  const server = http.createServer((request, response) => {
    if (request.url === '/.well-known/openid-configuration') {
      asked.discovery++;
      return answer(response, { issuer: mode === 'another-issuer' ? 'http://127.0.0.1:1' : url, jwks_uri: `${url}/keys` });
    }
    asked.keys++;
    answer(response, { keys: mode === 'no-keys' ? [] : Object.values(keys).map((k) => k.jwk) });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  t.after(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });

  const token: OidcIssuer['token'] = async (claims = {}, { alg = 'RS256', kid, stranger = false, expiresIn = 300 } = {}) => {
    const at = Math.floor((await now()) / 1000);
    const all = {
      iss: url,
      sub: 'repo:acme/app:ref:refs/heads/main',
      aud: 'quarterdeck',
      iat: at,
      nbf: at,
      exp: at + expiresIn,
      ...claims,
    };
    const payload = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
    if (alg === 'none') return `${encode({ alg: 'none', typ: 'JWT' })}.${encode(payload)}.`;
    if (alg === 'HS256') {
      const body = `${encode({ alg: 'HS256', typ: 'JWT', kid: keys.RS256.kid })}.${encode(payload)}`;
      return `${body}.${createHmac('sha256', JSON.stringify(keys.RS256.jwk)).update(body).digest('base64url')}`;
    }
    const pair = stranger ? await pairFor(alg) : keys[alg];
    return new SignJWT(payload).setProtectedHeader({ alg, kid: kid ?? keys[alg].kid, typ: 'JWT' }).sign(pair.privateKey);
  };

  return {
    url,
    token,
    rotate: async () => {
      keys = { RS256: await pairFor('RS256'), ES256: await pairFor('ES256') };
    },
    behave: (next) => {
      mode = next;
    },
    asked,
  };
}
