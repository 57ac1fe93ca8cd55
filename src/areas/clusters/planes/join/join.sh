#!/bin/sh
# Joins this machine to a Quarterdeck cluster: exchanges a registration token for a join token that works once, and runs kubeadm. Where the cluster
# has a mesh and this machine has WireGuard, the node's address is in the mesh, and a small service follows its peers.
# `--mesh` puts a node into the mesh that is in the cluster already.
set -eu
server='' token='' token_file='' ca_hash='' dry_run='' node='' named='' only_mesh=''
while [ $# -gt 0 ]; do
  case "$1" in
    --server) server=$2; shift 2 ;;
    --token) token=$2; shift 2 ;;
    --token-file) token_file=$2; shift 2 ;;
    --ca-cert-hash) ca_hash=$2; shift 2 ;;
    --node-name) node=$2 named=1; shift 2 ;;
    --print) dry_run=1; shift ;;
    --mesh) only_mesh=1; shift ;;
    *) echo "join.sh: unknown argument $1" >&2; exit 2 ;;
  esac
done
[ -n "$node" ] || node=$(hostname 2>/dev/null || cat /proc/sys/kernel/hostname)
node=$(printf '%s' "$node" | tr 'A-Z' 'a-z')
mesh=/etc/quarterdeck/mesh program=/usr/local/lib/quarterdeck/mesh

# The private key stays on this machine. False: the machine can have none.
make_key() {
  for needed in wg ip awk; do command -v "$needed" >/dev/null || return 1; done
  mkdir -p "$mesh"
  chmod 700 "$mesh"
  [ -s "$mesh/key" ] || { (umask 077; wg genkey > "$mesh/key.new"); mv "$mesh/key.new" "$mesh/key"; }
}

start_mesh() {
  mkdir -p "${program%/*}"
  cat > "$program" <<'END_OF_PROGRAM'
@mesh.sh@
END_OF_PROGRAM
  chmod 755 "$program"
  "$program" up
  if [ -d /run/systemd/system ]; then
    cat > /etc/systemd/system/quarterdeck-mesh.service <<END_OF_UNIT
[Unit]
Description=Mesh of the Quarterdeck cluster
Wants=network-online.target
After=network-online.target
Before=kubelet.service

[Service]
ExecStartPre=$program up
ExecStart=$program
Restart=on-failure
RestartSec=5
KillMode=process

[Install]
WantedBy=multi-user.target
END_OF_UNIT
    systemctl daemon-reload
    systemctl enable -q quarterdeck-mesh
    systemctl restart quarterdeck-mesh
  else
    echo "join.sh: there is no systemd; start $program with the machine, before its kubelet" >&2
    "$program" </dev/null >/dev/null 2>&1 &
  fi
}

# The kubelet reports the address in the mesh as the node's; other arguments in these files stay.
set_node_ip() {
  for file in /etc/default/kubelet /etc/sysconfig/kubelet; do
    [ -d "${file%/*}" ] || continue
    args=$(sed -n 's/^KUBELET_EXTRA_ARGS=//p' "$file" 2>/dev/null | tail -n 1 | tr -d "\"'" | sed 's/ *--node-ip=[^ ]*//')
    others=$(grep -v '^KUBELET_EXTRA_ARGS=' "$file" 2>/dev/null || true)
    printf '%s\nKUBELET_EXTRA_ARGS="%s --node-ip=%s"\n' "$others" "$args" "$1" | sed '/^$/d' > "$file.new"
    mv "$file.new" "$file"
  done
}

if [ -n "$only_mesh" ]; then
  make_key || { echo 'join.sh: wireguard-tools and iproute2 are needed' >&2; exit 1; }
  sed -n 's|^ *server: https://||p' /etc/kubernetes/kubelet.conf | tr -d '"' > "$mesh/endpoint"
  start_mesh
  for _ in $(seq 60); do [ -s "$mesh/address" ] && break; sleep 1; done
  [ -s "$mesh/address" ] || { echo 'join.sh: the control plane gave no address in the mesh; is it on for this cluster?' >&2; exit 1; }
  address=$(cat "$mesh/address")
  set_node_ip "${address%/*}"
  if [ -d /run/systemd/system ]; then systemctl restart kubelet; fi
  echo "this node is in the mesh as ${address%/*}"
  exit 0
fi

[ -n "$token_file" ] && token=$(cat "$token_file")
if [ -z "$server" ] || [ -z "$token" ] || [ -z "$ca_hash" ]; then
  echo 'join.sh: --server, --token (or --token-file) and --ca-cert-hash are needed' >&2
  exit 2
fi
set --
if [ -z "$dry_run" ]; then
  if make_key; then
    set -- -H 'content-type: application/json' --data-binary "{\"node\":\"$node\",\"wireguardPublicKey\":\"$(wg pubkey < "$mesh/key")\"}"
  else
    echo 'join.sh: without wireguard-tools this node joins without the mesh, where the cluster has one' >&2
  fi
fi
# The header comes from standard input, so that the token is in no process list.
answer=$(printf 'header = "Authorization: Bearer %s"\n' "$token" |
  curl -sS --retry 5 --retry-connrefused -K - -X POST -w '\n%{http_code}' "$@" "$server/join/v1") || exit 1
code=$(printf '%s' "$answer" | tail -n 1)
field() { printf '%s' "$answer" | sed -n "s/,\"mesh\":{.*//; s/.*\"$1\":\"\([^\"]*\)\".*/\1/p"; }
if [ "$code" != 201 ]; then
  echo "join.sh: not accepted: $(field error)" >&2
  exit 1
fi
endpoint=$(field endpoint) join_token=$(field joinToken) answered_hash=$(field caCertHash)
if [ "$answered_hash" != "$ca_hash" ]; then
  echo "join.sh: the cluster shows another authority ($answered_hash) than the one that was given ($ca_hash); not joining" >&2
  exit 1
fi
if [ -n "$dry_run" ]; then
  echo "kubeadm join $endpoint --token $join_token --discovery-token-ca-cert-hash $ca_hash${named:+ --node-name $node}"
  exit 0
fi
address=$(printf '%s' "$answer" | sed -n 's/.*"mesh":{"address":"\([0-9./]*\)".*/\1/p')
if [ -n "$address" ]; then
  echo "$endpoint" > "$mesh/endpoint"
  echo "$address" > "$mesh/address"
  start_mesh
  set_node_ip "${address%/*}"
fi
# With a key the join token is good for this name alone.
if [ $# -gt 0 ] || [ -n "$named" ]; then set -- --node-name "$node"; fi
exec kubeadm join "$endpoint" --token "$join_token" --discovery-token-ca-cert-hash "$ca_hash" "$@"
