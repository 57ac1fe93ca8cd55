// Commands for a node's shell, and cloud-config for a cloud provider.

/** Quoted for a POSIX shell. */
const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

export const kubeadmJoin = ({ endpoint, token, caHash }: { endpoint: string; token: string; caHash: string }): string =>
  `kubeadm join ${new URL(endpoint).host} --token ${token} --discovery-token-ca-cert-hash ${caHash}`;

interface Registered {
  /** Quarterdeck's public URL. */
  base: string;
  token: string;
  caHash: string;
}

export const registeredJoin = ({ base, token, caHash }: Registered): string =>
  `curl -fsSL ${quoted(`${base}/join.sh`)} | sh -s -- --server ${quoted(base)} --token ${token} --ca-cert-hash ${caHash}`;

/** The token is in a file that only root can read, not in a command line, which every process of the machine can see. */
export const cloudConfig = ({ base, token, caHash }: Registered): string => `#cloud-config
write_files:
  - path: /etc/quarterdeck/registration-token
    permissions: '0600'
    owner: root:root
    content: ${token}
runcmd:
  - [sh, -c, "curl -fsSL '${base}/join.sh' | sh -s -- --server '${base}' --token-file /etc/quarterdeck/registration-token --ca-cert-hash ${caHash}"]
`;
