#!/bin/sh
# Keeps this node in the mesh of its Quarterdeck cluster: makes the interface, and follows its peers with the node's certificate.
# `up`: only makes the interface.
set -u
umask 077
dir=/etc/quarterdeck/mesh interface=qdmesh
certificate=/var/lib/kubelet/pki/kubelet-client-current.pem authority=/etc/kubernetes/pki/ca.crt
say() { echo "quarterdeck-mesh: $*" >&2; }

up() {
  ip link show "$interface" >/dev/null 2>&1 || ip link add "$interface" type wireguard 2>/dev/null || wireguard-go "$interface" >/dev/null 2>&1 || {
    say 'the kernel has no WireGuard, and wireguard-go is not installed'
    return 1
  }
  wg set "$interface" private-key "$dir/key" || return 1
  if [ -s "$dir/address" ]; then ip address replace "$(cat "$dir/address")" dev "$interface" || return 1; fi
  ip link set "$interface" mtu 1420 up
}

# `wg syncconf` keeps the sessions of peers that stay. The port is named, or each change would choose another one.
apply() {
  address=$(sed -n 's/^# address //p' "$dir/answer")
  if [ "$address" != "$(cat "$dir/address" 2>/dev/null)" ]; then
    ip address flush dev "$interface"
    echo "$address" > "$dir/address"
    up || return 1
  fi
  {
    printf '[Interface]\nPrivateKey = %s\nListenPort = %s\n' "$(cat "$dir/key")" "$(wg show "$interface" listen-port)"
    grep -v '^#' "$dir/answer"
  } > "$dir/config"
  wg syncconf "$interface" "$dir/config" && revision=$(sed -n 's/^# revision //p' "$dir/answer")
  rm -f "$dir/config"
}

ask() {
  printf '{"wireguardPublicKey":"%s","revision":"%s","reached":[%s]}' "$(wg pubkey < "$dir/key")" "$revision" "$reached" |
    curl -sS -m 60 --cacert "$authority" --cert "$certificate" -H 'accept: text/plain' -H 'content-type: application/json' \
      --data-binary @- -o "$dir/answer" -w '%{http_code}' "https://$(cat "$dir/endpoint")/quarterdeck/mesh/v1"
}

up || exit 1
[ "${1:-}" = up ] && exit 0
revision=''
while :; do
  [ -s "$certificate" ] && [ -s "$authority" ] || { sleep 1; continue; }
  reached=$(wg show "$interface" latest-handshakes | awk -v since="$(($(date +%s) - 180))" '$2 > since { printf "%s\"%s\"", separator, $1; separator = "," }')
  # Nothing is reached: the control plane may be at another address.
  [ -n "$reached" ] || revision=''
  code=$(ask) || code=000
  case $code in
    200) apply || sleep 5 ;;
    204) [ -n "$revision" ] || sleep 1 ;;
    403)
      say "this node is no longer in the cluster: $(cat "$dir/answer")"
      ip link del "$interface"
      rm -f "$dir/address" "$dir/answer"
      exit 0
      ;;
    *)
      say "the control plane does not tell the peers (status $code); trying again"
      sleep 5
      ;;
  esac
done
