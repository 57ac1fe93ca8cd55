import { timingSafeEqual } from 'node:crypto';
import type { KubeObject } from '../../rules/kubernetes/object.ts';
import { textOf } from '../../rules/kubernetes/object.ts';
import { unauthorized } from '../../rules/kubernetes/status.ts';
import { readObject } from '../../store/objects.ts';
import type { Cluster, EmbeddedIdentity, User } from './cluster.ts';
import { requireSpace } from './read.ts';
import { readToken } from './tokens.ts';

const everybody = 'system:authenticated';

/** Who asks. A certificate counts first, then a bearer token; without either it is the anonymous user. */
export async function authenticate(
  cluster: Cluster,
  identity: EmbeddedIdentity | undefined,
  authorization: string | undefined,
): Promise<User> {
  if (identity) {
    if (cluster.options.isRefused(identity.fingerprint)) throw unauthorized();
    return {
      name: identity.commonName,
      groups: [...new Set([...identity.organizations, everybody])],
      extra: { 'authentication.kubernetes.io/credential-id': [`X509SHA256=${identity.fingerprint}`] },
    };
  }
  const token = /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1];
  if (token === undefined) {
    if (authorization) throw unauthorized();
    return { name: 'system:anonymous', groups: ['system:unauthenticated'] };
  }
  const user = await authenticateToken(cluster, token);
  if (!user) throw unauthorized();
  return user;
}

/** Undefined: it is nobody's, or not any more. */
export async function authenticateToken(cluster: Cluster, token: string): Promise<User | undefined> {
  if (token.length > 16_384) return undefined;
  const bootstrap = /^([a-z0-9]{6})\.([a-z0-9]{16})$/.exec(token);
  return bootstrap ? authenticateBootstrap(cluster, bootstrap[1]!, bootstrap[2]!) : authenticateAccount(cluster, token);
}

/** A bootstrap token is a secret in kube-system; it is read every time, so one that was deleted is refused at once. */
async function authenticateBootstrap(cluster: Cluster, id: string, secret: string): Promise<User | undefined> {
  const { kept, now } = await readWithTime(cluster, 'secrets', 'kube-system', `bootstrap-token-${id}`);
  if (kept?.['type'] !== 'bootstrap.kubernetes.io/token' || kept.metadata.deletionTimestamp) return undefined;
  const data = (kept['data'] ?? {}) as Record<string, string>;
  const text = (name: string) => Buffer.from(textOf(data[name]), 'base64').toString();
  const wanted = Buffer.from(text('token-secret'));
  const given = Buffer.from(secret);
  if (text('token-id') !== id || wanted.length !== given.length || !timingSafeEqual(wanted, given)) return undefined;
  if (text('usage-bootstrap-authentication') !== 'true') return undefined;
  const ends = text('expiration');
  if (ends !== '' && !(Date.parse(ends) > Date.parse(now))) return undefined;
  const groups = text('auth-extra-groups')
    .split(',')
    .filter((group) => /^system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]$/.test(group));
  return { name: `system:bootstrap:${id}`, groups: ['system:bootstrappers', ...groups, everybody] };
}

async function authenticateAccount(cluster: Cluster, token: string): Promise<User | undefined> {
  const claims = readToken(cluster, token);
  if (!claims) return undefined;
  const { namespace, name, uid, bound } = claims;
  const { kept, now } = await readWithTime(cluster, 'serviceaccounts', namespace, name);
  if (!kept || kept.metadata.uid !== uid || kept.metadata.deletionTimestamp) return undefined;
  const at = Date.parse(now) / 1000;
  if (claims.exp <= at || claims.nbf > at + 60) return undefined;
  if (bound) {
    const { kept: still } = await readWithTime(cluster, 'secrets', namespace, bound.name);
    if (still?.metadata.uid !== bound.uid) return undefined;
  }
  return {
    name: `system:serviceaccount:${namespace}:${name}`,
    uid,
    groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, everybody],
    extra: { 'authentication.kubernetes.io/credential-id': [`JTI=${claims.jti}`] },
  };
}

const readWithTime = (cluster: Cluster, resource: string, namespace: string, name: string) =>
  cluster.app.db.read(async (tx) => {
    const [space, row] = await Promise.all([requireSpace(tx, cluster), readObject(tx, cluster, { resource, namespace, name })]);
    return { now: space.now, kept: row && (JSON.parse(row.body) as KubeObject) };
  });
