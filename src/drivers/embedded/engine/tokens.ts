import { createPrivateKey, createPublicKey, type KeyObject, randomUUID, sign, verify } from 'node:crypto';
import { badRequest, invalidError, invalidValue, notFoundError } from '../../status.ts';
import type { KubeObject } from '../rules/object.ts';
import { textOf, textsOf } from '../rules/object.ts';
import type { Call } from './call.ts';
import type { Cluster } from './cluster.ts';
import { type WriteTransaction, writeObjects } from './write-transaction.ts';

// Tokens of service accounts: JWTs that the cluster signs and verifies.

export interface Claims {
  namespace: string;
  name: string;
  uid: string;
  exp: number;
  nbf: number;
  jti: string;
  bound?: { name: string; uid: string } | undefined;
}

interface Keys {
  private: KeyObject;
  public: KeyObject;
  algorithm: 'ES256' | 'RS256';
}

const keysByPem = new WeakMap<Cluster, { pem: string; keys: Keys }>();

function keysOf(cluster: Cluster): Keys {
  const { privateKeyPem: pem } = cluster.options.serviceAccount;
  const known = keysByPem.get(cluster);
  if (known?.pem === pem) return known.keys;
  const key = createPrivateKey(pem);
  const keys: Keys = { private: key, public: createPublicKey(key), algorithm: key.asymmetricKeyType === 'rsa' ? 'RS256' : 'ES256' };
  keysByPem.set(cluster, { pem, keys });
  return keys;
}

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

/** Undefined: not signed by this cluster. The caller checks the expiry against the database's clock. */
export function readToken(cluster: Cluster, token: string): Claims | undefined {
  const parts = token.split('.');
  if (parts.length !== 3) return undefined;
  try {
    const [head, body, signature] = parts as [string, string, string];
    const keys = keysOf(cluster);
    const { alg } = JSON.parse(Buffer.from(head, 'base64url').toString()) as { alg?: unknown };
    if (alg !== keys.algorithm) return undefined;
    const isOurs = verify('sha256', Buffer.from(`${head}.${body}`), withEncoding(keys.public), Buffer.from(signature, 'base64url'));
    return isOurs ? readClaims(cluster, JSON.parse(Buffer.from(body, 'base64url').toString())) : undefined;
  } catch {
    return undefined; // not a JWT
  }
}

const withEncoding = (key: KeyObject) => ({ key, dsaEncoding: 'ieee-p1363' as const });

function readClaims(cluster: Cluster, claims: Record<string, unknown>): Claims | undefined {
  const { issuer, audience } = cluster.options.serviceAccount;
  if (claims['iss'] !== issuer || !textsOf(claims['aud']).includes(audience)) return undefined;
  const { namespace, serviceaccount, secret } = claims['kubernetes.io'] as {
    namespace: string;
    serviceaccount: { name: string; uid: string };
    secret?: { name: string; uid: string };
  };
  const { exp, nbf, jti } = claims as { exp: number; nbf: number; jti: string };
  if (typeof exp !== 'number' || typeof nbf !== 'number') return undefined;
  return { namespace, name: serviceaccount.name, uid: serviceaccount.uid, exp, nbf, jti: textOf(jti), bound: secret };
}

const minSeconds = 600;
/** One day, like --service-account-max-token-expiration=24h. */
const maxGrantedSeconds = 86_400;
const maxRequestedSeconds = 2 ** 32;

/** Answers a TokenRequest for a service account. It stores nothing but runs as a write: a token outlives the permission to request one. */
export async function requestToken(
  cluster: Cluster,
  { requestInfo: { namespace, name }, caller }: Pick<Call, 'requestInfo' | 'caller'>,
  request: KubeObject,
): Promise<KubeObject> {
  const { issuer, audience } = cluster.options.serviceAccount;
  const spec = request.spec ?? {};
  const seconds = typeof spec['expirationSeconds'] === 'number' ? spec['expirationSeconds'] : 3_600;
  const of = { group: 'authentication.k8s.io', plural: 'tokenrequests' };
  if (seconds < minSeconds)
    throw invalidError('TokenRequest', of, '', [
      invalidValue('spec.expirationSeconds', seconds, 'may not specify a duration less than 10 minutes'),
    ]);
  if (seconds > maxRequestedSeconds)
    throw invalidError('TokenRequest', of, '', [
      invalidValue('spec.expirationSeconds', seconds, 'may not specify a duration larger than 2^32 seconds'),
    ]);
  const audiences = textsOf(spec['audiences']).length > 0 ? textsOf(spec['audiences']) : [audience];
  const bound = spec['boundObjectRef'] as { kind?: string; name?: string; uid?: string } | undefined;
  if (bound && bound.kind !== 'Secret')
    throw badRequest(
      `cannot bind a token to the kind ${JSON.stringify(bound.kind ?? '')}: this control plane is embedded and runs no pods; bind it to a Secret or to nothing`,
    );
  const find = async (transaction: WriteTransaction) => ({
    now: transaction.now,
    account: (await transaction.find({ resource: 'serviceaccounts', namespace, name }))?.object,
    secret: bound && (await transaction.find({ resource: 'secrets', namespace, name: textOf(bound.name) }))?.object,
  });
  const { now, account, secret } = await writeObjects(cluster, find, { caller });
  if (!account) throw notFoundError({ group: '', plural: 'serviceaccounts' }, name);
  if (bound && (!secret || (bound.uid && secret.metadata.uid !== bound.uid)))
    throw notFoundError({ group: '', plural: 'secrets' }, textOf(bound.name));
  const at = Math.floor(Date.parse(now) / 1000);
  const exp = at + Math.min(seconds, maxGrantedSeconds);
  const token = signToken(cluster, {
    aud: audiences,
    exp,
    iat: at,
    iss: issuer,
    jti: randomUUID(),
    nbf: at,
    sub: `system:serviceaccount:${namespace}:${name}`,
    'kubernetes.io': {
      namespace,
      serviceaccount: { name, uid: account.metadata.uid },
      ...(secret ? { secret: { name: secret.metadata.name, uid: secret.metadata.uid } } : {}),
    },
  });
  return {
    ...request,
    metadata: { name, namespace, creationTimestamp: now },
    spec: { ...spec, audiences, expirationSeconds: exp - at },
    status: { token, expirationTimestamp: `${new Date(exp * 1000).toISOString().slice(0, 19)}Z` },
  };
}

function signToken(cluster: Cluster, claims: Record<string, unknown>): string {
  const keys = keysOf(cluster);
  const head = encode({ alg: keys.algorithm, typ: 'JWT' });
  const body = encode(claims);
  const signature = sign('sha256', Buffer.from(`${head}.${body}`), withEncoding(keys.private));
  return `${head}.${body}.${signature.toString('base64url')}`;
}
