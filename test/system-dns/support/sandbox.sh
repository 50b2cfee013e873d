#!/bin/sh
# Runs as process 1 of a sandbox: own network, mounts and processes; nothing outside is changed.
# Arguments: the sandbox's folder, the folder laid over /usr.
set -e
box=$1
usr=$2
mount --make-rprivate /
if [ -n "$usr" ]; then mount -t overlay -o "lowerdir=$usr:/usr" overlay /usr; fi
if [ -f "$box/disk.img" ]; then
  # Nothing reaches the image that was not synced: no commit and no write-back by time.
  mount -o loop,noatime,commit=3600 "$box/disk.img" "$box/disk"
  mount --bind "$box/disk/etc" /etc
  mount --bind "$box/disk/state" "$box/state"
else
  mount --bind "$box/etc" /etc
fi
mount -t tmpfs tmpfs /run
mount -t sysfs -o ro sysfs /sys
mount --bind "$box/boot_id" /proc/sys/kernel/random/boot_id
mkdir -p /run/dbus /run/netns /run/systemd/resolve /run/NetworkManager /run/resolvconf
chown 992:992 /run/systemd/resolve
ip link set lo up
echo ready
# Not exec: this shell stays and takes in the orphans.
while :; do sleep 1000 & wait; done
