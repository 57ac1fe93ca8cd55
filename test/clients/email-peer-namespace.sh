#!/bin/sh
# Runs a mail server that is not installed, from where its package was unpacked: email-peer-namespace.sh UNPACKED PROGRAM [ARGUMENT…].
# Debian's mail servers conflict with each other, so all but one of them live here: in a mount namespace of their own (`unshare --mount`)
# with their files over /usr, their users beside ours, and places below /var and a /run that nobody else sees.
set -eu
unpacked=$1
shift
mount -t overlay overlay -o "lowerdir=$unpacked/usr:/usr" /usr
for place in /var/spool /var/lib /run; do mount -t tmpfs tmpfs "$place"; done
cp /etc/passwd /etc/group /run
id=64500
for user in Debian-exim opensmtpd opensmtpq; do
  grep -q "^$user:" /etc/passwd || echo "$user:x:$id:$id::/var/lib/opensmtpd/empty:/usr/sbin/nologin" >>/run/passwd
  grep -q "^$user:" /etc/group || echo "$user:x:$id:" >>/run/group
  id=$((id + 1))
done
for file in passwd group; do mount --bind "/run/$file" "/etc/$file"; done
mkdir -p /var/lib/opensmtpd/empty
chmod 711 /var/lib/opensmtpd/empty
exec "$@"
