#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs a command where arm64 programs run as this machine's own do, and so do the programs that they
# start: QEMU is registered with the kernel, and the libraries of a folder made by deploy/arm64-root.sh
# lie in /usr/lib. Both in namespaces of our own, which end with the command.
#
# Usage: tests/arm64/emulate.sh FOLDER COMMAND...
#
# Needs no root, but a kernel in which a user namespace has registrations of its own: Linux 6.7. On older
# ones root may register QEMU for the whole machine (Debian's package qemu-user-binfmt).
set -euo pipefail

if [ "${ASSAY_EMULATED:-}" != prepared ]; then
    ASSAY_EMULATED=prepared exec unshare --user --map-root-user --mount -- "$0" "$@"
fi
unset ASSAY_EMULATED

libraries=$(realpath -- "$1/usr/lib")
shift
formats=/proc/sys/fs/binfmt_misc
# Header of an ELF file: 64 bits, little-endian, EXEC or DYN, AArch64. F: opened now, so that it is found
# wherever a program changes its root to.
header='\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00'
mask='\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff'
if mount -t binfmt_misc binfmt_misc $formats 2>/dev/null; then
    printf '%s' ":assay-arm64:M::$header:$mask:$(command -v qemu-aarch64):F" >$formats/register
elif ! grep -qs '^interpreter .*aarch64' $formats/*; then
    echo "$0: arm64 programs do not run here: this needs Linux 6.7, or Debian's package qemu-user-binfmt" >&2
    exit 2
fi
# This machine's files first; what is added has names of its own (aarch64-linux-gnu).
mount -t overlay overlay -o "lowerdir=/usr/lib:$libraries" /usr/lib
exec "$@"
