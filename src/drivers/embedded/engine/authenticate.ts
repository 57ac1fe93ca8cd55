import { timingSafeEqual } from 'node:crypto';
import type { Tx } from '../../../kernel/db/index.ts';
import type { AccessHolder } from '../../driver.ts';
import { unauthorized } from '../../status.ts';
import type { KubeObject } from '../rules/object.ts';
import { textOf } from '../rules/object.ts';
import { type ObjectKey, readObject } from '../store/objects.ts';
import type { Cluster, EmbeddedIdentity, User } from './cluster.ts';
import { requireSpace } from './read.ts';
import { readToken } from './tokens.ts';

const authenticatedGroup = 'system:authenticated';

/**
 * Identifies the caller: by certificate first, then by bearer token, else as the anonymous user. `inside`: read through this transaction.
 */
export async function authenticate(
  cluster: Cluster,
  identity: EmbeddedIdentity | undefined,
  authorization: string | undefined,
  inside?: Tx,
): Promise<User> {
  if (identity) {
    const { isRefused, isRefusedNow } = cluster.options;
    if (isRefused(identity.fingerprint) || (inside && (await isRefusedNow?.(inside, identity.fingerprint)))) throw unauthorized();
    return {
      name: identity.commonName,
      groups: [...new Set([...identity.organizations, authenticatedGroup])],
      extra: { 'authentication.kubernetes.io/credential-id': [`X509SHA256=${identity.fingerprint}`] },
    };
  }
  const token = /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1];
  if (token === undefined) {
    if (authorization) throw unauthorized();
    return { name: 'system:anonymous', groups: ['system:unauthenticated'] };
  }
  const user = await authenticateToken(cluster, token, inside);
  if (!user) throw unauthorized();
  return user;
}

/** Undefined: the token is unknown, expired or revoked. */
export async function authenticateToken(cluster: Cluster, token: string, inside?: Tx): Promise<User | undefined> {
  if (token.length > 16_384) return undefined;
  const bootstrap = /^([a-z0-9]{6})\.([a-z0-9]{16})$/.exec(token);
  return bootstrap ? authenticateBootstrap(cluster, bootstrap[1]!, bootstrap[2]!, inside) : authenticateAccount(cluster, token, inside);
}

/** A bootstrap token is a secret in kube-system. It is read on every request, so a deleted token is refused at once. */
async function authenticateBootstrap(cluster: Cluster, id: string, secret: string, inside: Tx | undefined): Promise<User | undefined> {
  const { object, now } = await readWithTime(
    cluster,
    { resource: 'secrets', namespace: 'kube-system', name: `bootstrap-token-${id}` },
    inside,
  );
  if (object?.['type'] !== 'bootstrap.kubernetes.io/token' || object.metadata.deletionTimestamp) return undefined;
  const data = (object['data'] ?? {}) as Record<string, string>;
  const text = (name: string) => Buffer.from(textOf(data[name]), 'base64').toString();
  const expected = Buffer.from(text('token-secret'));
  const given = Buffer.from(secret);
  if (text('token-id') !== id || expected.length !== given.length || !timingSafeEqual(expected, given)) return undefined;
  if (text('usage-bootstrap-authentication') !== 'true') return undefined;
  const ends = text('expiration');
  if (ends !== '' && !(Date.parse(ends) > Date.parse(now))) return undefined;
  const groups = text('auth-extra-groups')
    .split(',')
    .filter((group) => /^system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]$/.test(group));
  return {
    name: `system:bootstrap:${id}`,
    groups: ['system:bootstrappers', ...groups, authenticatedGroup],
    credentialObjects: [`secrets kube-system/bootstrap-token-${id}`],
  };
}

async function authenticateAccount(cluster: Cluster, token: string, inside: Tx | undefined): Promise<User | undefined> {
  const claims = readToken(cluster, token);
  if (!claims) return undefined;
  const { namespace, name, uid, bound } = claims;
  const { object, now } = await readWithTime(cluster, { resource: 'serviceaccounts', namespace, name }, inside);
  if (!object || object.metadata.uid !== uid || object.metadata.deletionTimestamp) return undefined;
  const at = Date.parse(now) / 1000;
  if (claims.exp <= at || claims.nbf > at + 60) return undefined;
  const binding = bound && (await findBinding(cluster, namespace, bound, inside));
  if (bound && !binding) return undefined;
  return {
    name: `system:serviceaccount:${namespace}:${name}`,
    uid,
    groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, authenticatedGroup],
    extra: { 'authentication.kubernetes.io/credential-id': [`JTI=${claims.jti}`] },
    ...(binding?.holder ? { access: binding.holder } : {}),
    credentialObjects: [`serviceaccounts ${namespace}/${name}`, ...(bound ? [`secrets ${namespace}/${bound.name}`] : [])],
  };
}

/** The Secret that a token is bound to, and the Quarterdeck token behind that Secret, if any. Undefined: one of the two has ended. */
async function findBinding(
  cluster: Cluster,
  namespace: string,
  { name, uid }: { name: string; uid: string },
  inside: Tx | undefined,
): Promise<{ holder: AccessHolder | undefined } | undefined> {
  const { access } = cluster.options;
  const isAccess = access?.isSecret(namespace, name) ?? false;
  return readWith(cluster, inside, async (tx) => {
    const [row, holder] = await Promise.all([
      readObject(tx, cluster, { resource: 'secrets', namespace, name }),
      isAccess ? access!.findHolder(tx, name) : undefined,
    ]);
    if (!row || (isAccess && !holder)) return undefined;
    const { metadata } = JSON.parse(row.body) as KubeObject;
    return metadata.uid === uid && !metadata.deletionTimestamp ? { holder } : undefined;
  });
}

const readWith = <T>(cluster: Cluster, inside: Tx | undefined, work: (tx: Tx) => Promise<T>): Promise<T> =>
  inside ? work(inside) : cluster.app.db.read(work);

const readWithTime = (cluster: Cluster, key: ObjectKey, inside: Tx | undefined) =>
  readWith(cluster, inside, async (tx) => {
    const [space, row] = await Promise.all([requireSpace(tx, cluster), readObject(tx, cluster, key)]);
    return { now: space.now, object: row && (JSON.parse(row.body) as KubeObject) };
  });
