#!/bin/sh
# First process of a local host, already in namespaces of its own (see local.py).
# Arguments: lab folder, host name, IPv4 and IPv6 address with prefix length (or empty), lower layer of the root, folder
# of artifacts, user id of services, and for each data disk NAME:FILE SYSTEM:PYTHON, with the Python that serves a
# programmable disk, or nothing.
# Standard input: a line once the cable is plugged in.
set -eu
lab=$1 name=$2 address=$3 address6=$4 root=$5 artifacts=$6 user=$7
shift 7
host=$lab/$name
read -r _

mount --make-rprivate /
mount -t overlay overlay -o "lowerdir=$root,upperdir=$host/upper,workdir=$host/work" "$host/root"
cd "$host/root"
mount --rbind /dev dev
mount -t proc proc proc
mount -t sysfs sysfs sys
mount -t tmpfs tmpfs run
mount -t tmpfs tmpfs tmp
mkdir -p run/sshd

# Serve a programmable disk, given its folder and the Python that does it.
serve() {
    mount --bind "$1/fuse" "$1/fuse"
    mount --make-shared "$1/fuse"
    unshare --mount --propagation unchanged "$2" -m clusters.hosts.disk.server "$1" >&2 &
    until [ -e "$1/fuse/disk" ]; do
        kill -0 $!
        sleep 0.01
    done
}

# Mount the image $2 with the file system $1 at $3. As a machine does at boot: check the file system, with repair where
# it cannot be mounted. Only here, in the host's own mount namespace: a mount seen elsewhere would outlive a power cut.
attach() {
    mkdir -p "$3"
    mount -t "$1" -o loop "$2" "$3" || {
        if [ "$1" = ext4 ]; then fsck.ext4 -y "$2" >&2 || true; else xfs_repair -L "$2" >&2; fi
        mount -t "$1" -o loop "$2" "$3"
    }
    chown "$user:$user" "$3"
}

# All programmable disks are served before the first is mounted: their servers must be in mount namespaces that do not
# see the file systems on them. Who ends last in a namespace unmounts what is in it, and a server that flushes to itself
# waits for ever.
for disk; do
    python=${disk##*:}
    [ -z "$python" ] || serve "$host/disks/${disk%%:*}" "$python"
done
for disk; do
    disk_name=${disk%%:*} python=${disk##*:} filesystem=${disk#*:}
    filesystem=${filesystem%%:*}
    mount_point=data backing=$host/disks/$disk_name/disk
    [ "$disk_name" = data ] || mount_point=disks/$disk_name
    [ -z "$python" ] || backing=$host/disks/$disk_name/fuse/disk
    attach "$filesystem" "$backing" "$mount_point"
    [ -z "$python" ] || losetup --direct-io=on "$(findmnt -no SOURCE "$PWD/$mount_point")"
done

# Services find their programs also where only root may enter on this machine; this changes the host's overlay alone.
folder=$artifacts
while [ "$folder" != / ]; do
    [ ! -d ".$folder" ] || chmod o+x ".$folder"
    folder=$(dirname "$folder")
done
echo "chaoskit:x:$user:$user::/tmp:/bin/sh" >> etc/passwd
echo "chaoskit:x:$user:" >> etc/group

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
