import { isDeepStrictEqual } from 'node:util';
import type { Ask } from '../../../../drivers/driver.ts';
import { type BootstrapToken, secretName, signatureName, signDetached } from '../../rules/bootstrap-token.ts';
import { configMap, type KubeObject, kubeadmObjects, type WantedObject } from '../../rules/kubeadm.ts';
import { discoveryText } from '../../rules/kubeconfig.ts';
import { askFor, changeObject, listAll } from './ask.ts';

export interface ClusterDescription {
  name: string;
  endpoint: string;
  version: string;
  caCertificate: string;
}

/** Creates everything that kubeadm reads. Safe to run again: objects that are correct are not touched. */
export async function prepareCluster(ask: Ask, described: ClusterDescription): Promise<void> {
  const wanted = kubeadmObjects(described);
  const isNamespace = ({ object }: WantedObject) => object.kind === 'Namespace';
  await Promise.all(wanted.filter(isNamespace).map((each) => ensureObject(ask, each)));
  const others = wanted.filter((each) => !isNamespace(each)).values();
  const makeInTurn = async () => {
    for (const each of others) await ensureObject(ask, each);
  };
  await Promise.all([publishDiscovery(ask, described), ...Array.from({ length: concurrency }, makeInTurn)]);
}

/** Each concurrent write takes a connection, and a new connection costs more than waiting for a free one. */
const concurrency = 3;

/** An object that is there stays as it is, but for its corrected fields. */
export async function ensureObject(ask: Ask, { path, object, corrected = [] }: WantedObject): Promise<void> {
  const { status, body } = await ask('POST', path, object);
  if (status === 201) return;
  if (status !== 409) throw new Error(`${object.kind} ${object.metadata.name} could not be made: ${status} ${String(body?.message ?? '')}`);
  // Users may change other objects; only what kubeadm reads and what leads pods to the API is corrected.
  if (corrected.length === 0) return;
  await changeObject(ask, `${path}/${object.metadata.name}`, (found: KubeObject) =>
    corrected.every((field) => includes(found[field], object[field]))
      ? undefined
      : { ...found, ...Object.fromEntries(corrected.map((field) => [field, object[field]])) },
  );
}

/** Whether a value has everything that is wanted; the apiserver adds defaults to lists of objects. */
function includes(found: unknown, wanted: unknown): boolean {
  if (Array.isArray(wanted))
    return Array.isArray(found) && found.length === wanted.length && wanted.every((each, n) => includes(found[n], each));
  const isPlain = wanted === null || typeof wanted !== 'object' || found === null || typeof found !== 'object';
  if (isPlain) return isDeepStrictEqual(found, wanted);
  return Object.entries(wanted).every(([name, value]) => includes((found as Record<string, unknown>)[name], value));
}

const discoveryPath = '/api/v1/namespaces/kube-public/configmaps/cluster-info';

/** Writes `cluster-info`, signed with every bootstrap token, whenever the address or the authority changes. */
async function publishDiscovery(ask: Ask, { endpoint, caCertificate }: ClusterDescription): Promise<void> {
  const kubeconfig = discoveryText(endpoint, caCertificate);
  const found = await askFor(ask, 'GET', discoveryPath, undefined, [404]);
  if (found?.data?.kubeconfig === kubeconfig) return;
  const data: Record<string, string> = { kubeconfig };
  for (const token of await bootstrapTokens(ask)) data[signatureName(token.id)] = signDetached(kubeconfig, token);
  const wanted = configMap('cluster-info', 'kube-public', data);
  if (found) await changeObject(ask, discoveryPath, (object) => ({ ...object, data }));
  else await ensureObject(ask, wanted);
}

const decoded = (text: unknown) => (typeof text === 'string' ? Buffer.from(text, 'base64').toString() : '');

async function bootstrapTokens(ask: Ask): Promise<BootstrapToken[]> {
  const secrets = await listAll(ask, '/api/v1/namespaces/kube-system/secrets');
  return secrets
    .filter(({ type }) => type === 'bootstrap.kubernetes.io/token')
    .map(({ data = {} }) => ({ id: decoded(data['token-id']), secret: decoded(data['token-secret']) }))
    .filter(({ id, secret }) => id && secret);
}

const secretsPath = '/api/v1/namespaces/kube-system/secrets';
const encoded = (text: string) => Buffer.from(text).toString('base64');

/** Nodes can join with the token once this returns. */
export async function putJoinToken(ask: Ask, token: BootstrapToken, expiresAt: string): Promise<void> {
  const data = {
    'token-id': encoded(token.id),
    'token-secret': encoded(token.secret),
    expiration: encoded(expiresAt),
    'usage-bootstrap-authentication': encoded('true'),
    'usage-bootstrap-signing': encoded('true'),
    'auth-extra-groups': encoded('system:bootstrappers:kubeadm:default-node-token'),
    description: encoded('one node, once'),
  };
  const metadata = { name: secretName(token.id), namespace: 'kube-system' };
  await askFor(ask, 'POST', secretsPath, { apiVersion: 'v1', kind: 'Secret', metadata, type: 'bootstrap.kubernetes.io/token', data });
  await changeObject(ask, discoveryPath, (object) => ({
    ...object,
    data: { ...object.data, [signatureName(token.id)]: signDetached(object.data?.kubeconfig ?? '', token) },
  }));
}

/** Deletes their Secrets and signatures. */
export async function removeJoinTokens(ask: Ask, ids: readonly string[]): Promise<void> {
  for (const id of ids) await askFor(ask, 'DELETE', `${secretsPath}/${secretName(id)}`, undefined, [404]);
  const gone = new Set(ids.map(signatureName));
  await changeObject(ask, discoveryPath, (object) => {
    const kept = Object.entries(object.data ?? {}).filter(([name]) => !gone.has(name));
    return kept.length === Object.keys(object.data ?? {}).length ? undefined : { ...object, data: Object.fromEntries(kept) };
  });
}
