#!/bin/sh
# First process of a machine of somebody else's, already in namespaces of its own (see machines.py).
# Arguments: folder of all machines, name, address with prefix length, root file system, folder to copy to /opt/system.
# Standard input: a line once the cable is plugged in.
set -eu
all=$1 name=$2 address=$3 root=$4 copied=$5
own=$all/$name
read -r _

mount --make-rprivate /
mkdir -p "$own/upper" "$own/work" "$own/root"
mount -t overlay overlay -o "lowerdir=$root,upperdir=$own/upper,workdir=$own/work" "$own/root"
cd "$own/root"
mount --rbind /dev dev
mount -t proc proc proc
mount -t sysfs sysfs sys
mount -t tmpfs tmpfs run
mount -t tmpfs tmpfs tmp
mkdir -p run/sshd var/lib/system opt/system
mount -t tmpfs -o size=1g tmpfs var/lib/system
[ -e opt/system/copied ] || { cp -r "$copied/." opt/system/; : > opt/system/copied; }

hostname "$name"
cp "$all/hosts" etc/hosts
chroot . useradd --create-home --password '*' --shell /bin/bash deploy
chroot . useradd --system --password '*' system
chroot . chown system:system /var/lib/system
mkdir -p home/deploy/.ssh
cp "$all/key.pub" home/deploy/.ssh/authorized_keys
chroot . chown -R deploy:deploy /home/deploy/.ssh
echo 'deploy ALL=(ALL) NOPASSWD: ALL' > etc/sudoers.d/deploy
cp "$own/host_key" etc/ssh/ssh_host_ed25519_key
chmod 600 etc/ssh/ssh_host_ed25519_key
cat > etc/ssh/sshd_config <<CONFIG
HostKey /etc/ssh/ssh_host_ed25519_key
PasswordAuthentication no
PermitRootLogin no
UsePAM no
UseDNS no
MaxSessions 100
MaxStartups 100
CONFIG

ip link set lo up
ip address add "$address" dev eth0
ip link set eth0 up
exec chroot . /usr/sbin/sshd -D -e >&2
