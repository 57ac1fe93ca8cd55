#!/bin/sh
# Runs a program of an image as a container engine with a read-only root would, on the network of this machine:
# image-in-a-namespace.sh <root> <volume> <user> <folder> <program> [<argument>…]
# The environment is the program's. It is process 1; /proc, /dev and /tmp are its own.
set -e
root=$1 volume=$2
for place in proc dev tmp etc var/lib/quarterdeck; do mkdir -p "$root/$place"; done
for file in resolv.conf hosts; do : >>"$root/etc/$file"; done
export root volume
exec unshare --mount --pid --fork --kill-child=KILL sh -ec '
  mount --bind "$root" "$root"
  mount --bind "$volume" "$root/var/lib/quarterdeck"
  for file in resolv.conf hosts; do mount --bind "/etc/$file" "$root/etc/$file"; done
  mount -t proc proc "$root/proc"
  mount -t tmpfs -o mode=1777 none "$root/tmp"
  mount -t tmpfs -o mode=755 none "$root/dev"
  for file in null zero full random urandom; do : >"$root/dev/$file"; mount --bind "/dev/$file" "$root/dev/$file"; done
  mkdir -m 1777 "$root/dev/shm"
  mount -o remount,ro,bind "$root"
  user=$3 folder=$4
  shift 4
  exec setpriv --no-new-privs /usr/sbin/chroot --userspec="$user" --groups= "$root" env -u root -u volume --chdir="$folder" "$@"' sh "$@"
