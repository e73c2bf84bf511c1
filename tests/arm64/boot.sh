#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs a command on a kernel for arm64, which QEMU boots: what needs more of a kernel than QEMU's
# translation of system calls has, above all seccomp(2). Takes four seconds and a tenth of the speed.
#
# Usage: tests/arm64/boot.sh FOLDER COMMAND
#
# FOLDER is made by deploy/arm64-root.sh and lies in the repository. COMMAND is for busybox' shell, in
# the repository's root, as root. The repository is read-only there; what the command writes into it
# stays in memory. There is no network but `lo`, and no terminal.
set -euo pipefail

folder=$(realpath -- "$1")
command=$2
cd "$(dirname -- "$0")/../.."
modules=(virtio_pci_modern_dev virtio_pci_legacy_dev virtio_pci netfs fscache 9pnet 9pnet_virtio 9p overlay)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"/initial/{bin,dev,etc,lower,modules,proc,run,sys,tmp,upper,usr}
cp "$folder/bin/busybox" "$work/initial/bin/"
for module in "${modules[@]}"; do
    find "$folder/lib/modules" -name "$module.ko" -exec cp {} "$work/initial/modules/" \;
done
printf 'root:x:0:0::/:/bin/sh\n' >"$work/initial/etc/passwd"
printf '127.0.0.1 localhost\n' >"$work/initial/etc/hosts"
printf '%s\n' "$command" >"$work/initial/command"

cat >"$work/initial/init" <<INIT
#!/bin/busybox sh
export PATH=/bin
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mkdir /dev/shm && mount -t tmpfs tmpfs /dev/shm
mount -t tmpfs tmpfs /tmp
mount -t tmpfs tmpfs /upper
ip link set lo up
for module in ${modules[*]}; do insmod /modules/\$module.ko; done
mkdir -p /upper/files /upper/work "$PWD"
mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000,cache=loose,ro repository /lower
mount -t overlay -o lowerdir=/lower,upperdir=/upper/files,workdir=/upper/work overlay "$PWD"
ln -s "$folder/usr/lib" /usr/lib
ln -s usr/lib /lib
cd "$PWD"
sh /command </dev/null
echo "status of the command: \$?"
poweroff -f
INIT
chmod +x "$work/initial/init"
(cd "$work/initial" && find . | cpio --quiet -o -H newc | gzip -1) >"$work/initrd"

timeout 3600 qemu-system-aarch64 -machine virt -cpu max,pauth-impdef=on -smp 2 -m 4G -nographic -nic none -no-reboot \
    -fsdev local,id=repository,path="$PWD",security_model=none,readonly=on \
    -device virtio-9p-pci,fsdev=repository,mount_tag=repository \
    -kernel "$folder"/boot/vmlinuz-* -initrd "$work/initrd" \
    -append 'console=ttyAMA0 quiet panic=-1' </dev/null | tr -d '\r' | tee "$work/out"
grep -q '^status of the command: 0$' "$work/out"
