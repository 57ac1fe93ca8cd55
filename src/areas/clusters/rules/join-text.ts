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

/** Exchanges a registration token for a join token for one node, and joins by kubeadm. The cluster's authority is pinned by its hash. */
export const joinScript = `#!/bin/sh
# Joins this machine to a Quarterdeck cluster: exchanges a registration token for a join token that works once, and runs kubeadm.
set -eu
server='' token='' token_file='' ca_hash='' dry_run=''
while [ $# -gt 0 ]; do
  case "$1" in
    --server) server=$2; shift 2 ;;
    --token) token=$2; shift 2 ;;
    --token-file) token_file=$2; shift 2 ;;
    --ca-cert-hash) ca_hash=$2; shift 2 ;;
    --print) dry_run=1; shift ;;
    *) echo "join.sh: unknown argument $1" >&2; exit 2 ;;
  esac
done
[ -n "$token_file" ] && token=$(cat "$token_file")
if [ -z "$server" ] || [ -z "$token" ] || [ -z "$ca_hash" ]; then
  echo 'join.sh: --server, --token (or --token-file) and --ca-cert-hash are needed' >&2
  exit 2
fi
# The header comes from standard input, so that the token is in no process list.
answer=$(printf 'header = "Authorization: Bearer %s"\\n' "$token" | curl -fsS --retry 5 --retry-connrefused -K - -X POST "$server/join/v1") || {
  echo 'join.sh: the registration token was not accepted; is it disabled, expired or revoked?' >&2
  exit 1
}
field() { printf '%s' "$answer" | sed -n "s/.*\\"$1\\":\\"\\([^\\"]*\\)\\".*/\\1/p"; }
endpoint=$(field endpoint) join_token=$(field joinToken) answered_hash=$(field caCertHash)
if [ "$answered_hash" != "$ca_hash" ]; then
  echo "join.sh: the cluster shows another authority ($answered_hash) than the one that was given ($ca_hash); not joining" >&2
  exit 1
fi
if [ -n "$dry_run" ]; then
  echo "kubeadm join $endpoint --token $join_token --discovery-token-ca-cert-hash $ca_hash"
  exit 0
fi
exec kubeadm join "$endpoint" --token "$join_token" --discovery-token-ca-cert-hash "$ca_hash"
`;
