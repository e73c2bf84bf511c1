#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Gathers the programs of a build folder with the libraries they need, to run on a machine that has
# none of them (a bare GPU machine). glibc 2.36 or newer and the GPU's driver must be there.
#
# Usage: deploy/bundle.sh BUILD_DIR OUT_DIR      then e.g. OUT_DIR/bin/assay device list
set -euo pipefail

build=$1
out=$2
# Belongs to the machine, with the loader.
glibc='^(ld-linux.*|linux-vdso|libc|libm|libdl|librt|libpthread|libresolv|libutil|libanl)\.so'

rm -rf "$out"
mkdir -p "$out/bin" "$out/lib" "$out/libexec"
for program in "$build"/bin/*; do
    [ -f "$program" ] && [ -x "$program" ] || continue
    name=$(basename -- "$program")
    cp "$program" "$out/libexec/"
    ldd "$program" | awk '$2 == "=>" { print $1, $3 }' | while read -r soname path; do
        [[ $soname =~ $glibc ]] || cp -Lu "$path" "$out/lib/$soname"
    done
    cat >"$out/bin/$name" <<'WRAPPER'
#!/bin/sh
here=$(dirname -- "$(readlink -f -- "$0")")
LD_LIBRARY_PATH=$here/../lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} exec "$here/../libexec/${0##*/}" "$@"
WRAPPER
    chmod +x "$out/bin/$name"
done
du -sh "$out"
