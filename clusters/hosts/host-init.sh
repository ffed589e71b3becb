#!/bin/sh
# First process of a local host, already in namespaces of its own (see local.py).
# Arguments: lab folder, host name, IPv4 and IPv6 address with prefix length (or empty), file system, and
# for a programmable disk the Python that serves it. Standard input: a line
# once the cable is plugged in.
set -eu
lab=$1 name=$2 address=$3 address6=$4 filesystem=$5 python=${6:-}
host=$lab/$name
read -r _

mount --make-rprivate /
mount -t overlay overlay -o "lowerdir=/,upperdir=$host/upper,workdir=$host/work" "$host/root"
cd "$host/root"
mount --rbind /dev dev
mount -t proc proc proc
mount -t sysfs sysfs sys
mount -t tmpfs tmpfs run
mount -t tmpfs tmpfs tmp
mkdir -p run/sshd data
# Only here, in the host's own mount namespace: a mount seen elsewhere would outlive a power cut.
backing=$host/disk
if [ "$python" ]; then
    # In a mount namespace that does not see the file system on the disk: who ends last in a namespace unmounts
    # what is in it, and a server that flushes to itself waits for ever.
    mount --bind "$host/fuse" "$host/fuse"
    mount --make-shared "$host/fuse"
    unshare --mount --propagation unchanged "$python" -m clusters.hosts.disk.server "$host" >&2 &
    backing=$host/fuse/disk
    until [ -e "$backing" ]; do
        kill -0 $!
        sleep 0.01
    done
fi
# As a machine does at boot: check the file system, with repair where it cannot be mounted.
mount -t "$filesystem" -o loop "$backing" data || {
    if [ "$filesystem" = ext4 ]; then fsck.ext4 -y "$backing" >&2 || true; else xfs_repair -L "$backing" >&2; fi
    mount -t "$filesystem" -o loop "$backing" data
}
[ -z "$python" ] || losetup --direct-io=on "$(findmnt -no SOURCE "$PWD/data")"

hostname "$name"
cp "$lab/hosts" etc/hosts
mkdir -p run/ssh-of-lab
cp "$lab/sshd_config" "$lab/host_key" "$lab/client_key.pub" run/ssh-of-lab/
chmod 600 run/ssh-of-lab/host_key
# A locked root account is refused by sshd even with a key; a slow start-up file would delay every command.
sed -i 's/^root:![^:]*:/root:*:/' etc/shadow
sed -i 's#^\(root:.*\):[^:]*$#\1:/bin/sh#' etc/passwd

ip link set lo up
ip address add "$address" dev eth0
[ -z "$address6" ] || ip address add "$address6" dev eth0 nodad
ip link set eth0 up
echo mounted
exec chroot . /usr/sbin/sshd -D -e -f /run/ssh-of-lab/sshd_config >&2
