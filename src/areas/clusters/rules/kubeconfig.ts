/** A kubeconfig in YAML. Every value is written as JSON, which is valid YAML, so no name can inject syntax. */
export interface KubeconfigParts {
  cluster: string;
  endpoint: string;
  caCertificate: string;
  user?: { name: string; token: string };
}

export function kubeconfigText({ cluster, endpoint, caCertificate, user }: KubeconfigParts): string {
  const quote = JSON.stringify;
  const authority = Buffer.from(caCertificate).toString('base64');
  const head = `apiVersion: v1
kind: Config
clusters:
- name: ${quote(cluster)}
  cluster:
    server: ${quote(endpoint)}
    certificate-authority-data: ${authority}
`;
  if (!user) return head;
  return `${head}users:
- name: ${quote(user.name)}
  user:
    token: ${quote(user.token)}
contexts:
- name: ${quote(cluster)}
  context:
    cluster: ${quote(cluster)}
    user: ${quote(user.name)}
current-context: ${quote(cluster)}
`;
}

/** The kubeconfig in `cluster-info`: the endpoint and the authority, under an empty name. */
export const discoveryText = (endpoint: string, caCertificate: string): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: '', cluster: { server: endpoint, 'certificate-authority-data': Buffer.from(caCertificate).toString('base64') } }],
    contexts: [],
    users: [],
    preferences: {},
    'current-context': '',
  });
