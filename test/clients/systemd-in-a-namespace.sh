#!/bin/sh
# A systemd of its own, in namespaces and a cgroup of its own: systemd-in-a-namespace.sh <name> <folder of units> <checkout>
# The checkout is at /opt/quarterdeck/current. /run, /opt and /var/lib are empty, and gone with it.
set -e
name=$1 units=$2 checkout=$3
if [ "$(stat -f -c %T /sys/fs/cgroup)" = cgroup2fs ]; then hierarchies=/sys/fs/cgroup; else hierarchies=/sys/fs/cgroup/*; fi
for hierarchy in $hierarchies; do
  mkdir "$hierarchy/$name" 2>/dev/null || continue
  echo $$ >"$hierarchy/$name/cgroup.procs" 2>/dev/null || true # a cpuset without processors takes nothing in
done
export units checkout
exec unshare -Cpfm --mount-proc sh -ec '
  if [ "$(stat -f -c %T /sys/fs/cgroup)" = cgroup2fs ]; then
    mount -t cgroup2 none /sys/fs/cgroup
  else
    mount -t tmpfs none /sys/fs/cgroup
    mkdir /sys/fs/cgroup/systemd
    mount -t cgroup -o none,name=systemd none /sys/fs/cgroup/systemd
  fi
  mkdir -p /run/held && mount --bind "$checkout" /run/held
  mount -t tmpfs none /opt
  mkdir -p /opt/quarterdeck/current
  mount --bind /run/held /opt/quarterdeck/current
  mount -t tmpfs none /var/lib
  mount -t tmpfs none /run
  export container=other SYSTEMD_UNIT_PATH=$units
  exec /lib/systemd/systemd --system --unit=multi-user.target --log-target=null'
