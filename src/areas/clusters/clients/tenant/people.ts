import { ownNamespace } from '../../rules/kubeadm.ts';
import { type Ask, askFor } from './ask.ts';

// A service account for each person who was given a client configuration. Removing it ends every token of theirs.

const accounts = `/api/v1/namespaces/${ownNamespace}/serviceaccounts`;
const bindings = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings';

const accountOf = (user: string) => `person-${user.toLowerCase().replaceAll(/[^a-z0-9]/g, '-')}`;
const bindingOf = (user: string) => `quarterdeck:${accountOf(user)}`;

/** A token with full rights, good for so many seconds. */
export async function mintPersonToken(ask: Ask, person: { id: string; email: string }, seconds: number): Promise<string> {
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
  const asked = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds: seconds } };
  return (await askFor(ask, 'POST', `${accounts}/${name}/token`, asked)).status.token;
}

export async function removePerson(ask: Ask, user: string): Promise<void> {
  await askFor(ask, 'DELETE', `${bindings}/${encodeURIComponent(bindingOf(user))}`, undefined, [404]);
  await askFor(ask, 'DELETE', `${accounts}/${accountOf(user)}`, undefined, [404]);
}
