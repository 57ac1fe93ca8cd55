/** Kubernetes' client configuration, in YAML. Every value is JSON, which is YAML too: nothing in a name can leave its place. */
export interface KubeconfigParts {
  cluster: string;
  endpoint: string;
  caCertificate: string;
  user?: { name: string; token: string };
}

export function kubeconfigText({ cluster, endpoint, caCertificate, user }: KubeconfigParts): string {
  const said = JSON.stringify;
  const authority = Buffer.from(caCertificate).toString('base64');
  const head = `apiVersion: v1
kind: Config
clusters:
- name: ${said(cluster)}
  cluster:
    server: ${said(endpoint)}
    certificate-authority-data: ${authority}
`;
  if (!user) return head;
  return `${head}users:
- name: ${said(user.name)}
  user:
    token: ${said(user.token)}
contexts:
- name: ${said(cluster)}
  context:
    cluster: ${said(cluster)}
    user: ${said(user.name)}
current-context: ${said(cluster)}
`;
}

/** What kubeadm finds in `cluster-info`: where the cluster is and its authority, under an empty name. */
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
