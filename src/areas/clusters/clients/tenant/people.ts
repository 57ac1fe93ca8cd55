import type { Ask } from '../../../../drivers/driver.ts';
import { ownNamespace } from '../../rules/kubeadm.ts';
import { askFor } from './ask.ts';

// One service account for each user with a client configuration, and one Secret for each Quarterdeck token with which a configuration was fetched.
// Deleting the account invalidates every token of the user; deleting the Secret invalidates the tokens that are bound to it.

const secrets = `/api/v1/namespaces/${ownNamespace}/secrets`;
const accounts = `/api/v1/namespaces/${ownNamespace}/serviceaccounts`;
const bindings = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings';

const toObjectName = (id: string) => id.toLowerCase().replaceAll(/[^a-z0-9]/g, '-');
const accountOf = (user: string) => `person-${toObjectName(user)}`;
const secretPrefix = 'quarterdeck-token-';
export const accessSecretOf = (token: string) => `${secretPrefix}${toObjectName(token)}`;
export const isAccessSecret = (namespace: string, name: string) => namespace === ownNamespace && name.startsWith(secretPrefix);
const bindingOf = (user: string) => `quarterdeck:${accountOf(user)}`;

/** A token with full rights. It expires after `seconds`, and is invalid once the Secret is deleted. */
export async function mintPersonToken(ask: Ask, person: { id: string; email: string }, secret: string, seconds: number): Promise<string> {
  const name = accountOf(person.id);
  const metadata = { name, namespace: ownNamespace, annotations: { 'quarterdeck/person': person.email } };
  await askFor(ask, 'POST', accounts, { apiVersion: 'v1', kind: 'ServiceAccount', metadata }, [409]);
  const binding = {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name: bindingOf(person.id) },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ kind: 'ServiceAccount', name, namespace: ownNamespace }],
  };
  await askFor(ask, 'POST', bindings, binding, [409]);
  const tie = { ...metadata, name: secret };
  await askFor(ask, 'POST', secrets, { apiVersion: 'v1', kind: 'Secret', metadata: tie, type: 'Opaque' }, [409]);
  const spec = { expirationSeconds: seconds, boundObjectRef: { kind: 'Secret', apiVersion: 'v1', name: secret } };
  const asked = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec };
  return (await askFor(ask, 'POST', `${accounts}/${name}/token`, asked)).status.token;
}

export async function removeAccessSecret(ask: Ask, secret: string): Promise<void> {
  await askFor(ask, 'DELETE', `${secrets}/${secret}`, undefined, [404]);
}

export async function removePerson(ask: Ask, user: string): Promise<void> {
  await askFor(ask, 'DELETE', `${bindings}/${encodeURIComponent(bindingOf(user))}`, undefined, [404]);
  await askFor(ask, 'DELETE', `${accounts}/${accountOf(user)}`, undefined, [404]);
}
