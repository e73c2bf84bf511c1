#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# All figures of a GPU, on an otherwise idle machine: builds what it needs and measures.
#
# Usage: bench/gpu.sh BUILD_DIR OUT_DIR [SECONDS_FOR_THE_SEARCH]
# FILES=MIB in the environment also measures reading of files, cold and warm, in OUT_DIR.
set -u

build=$1 out=$2 search=${3:-0}
here=$(cd "$(dirname "$0")/.." && pwd)
commit=${COMMIT:-$(git -C "$here" describe --always --dirty 2>/dev/null || echo unknown)}
mkdir -p "$out"
ulimit -n "$(ulimit -H -n)"

cmake -S "$here" --preset hash-only -DASSAY_WERROR=OFF -B "$build" >"$out/build.log" 2>&1 &&
    cmake --build "$build" -j "$(nproc)" --target gpu_hash_device_bench gpu_hash_cuda_owner \
        file_read_rate_bench gpu_hash_search >>"$out/build.log" 2>&1 || { tail -n 20 "$out/build.log"; exit 1; }
bench="$build/bin/gpu_hash_device_bench"

used() { nvidia-smi --query-gpu=memory.used --format=csv,noheader 2>/dev/null | head -n 1; }

# Hashes what the owner (a command that waits for its peer on a socket) shares.
share() {
    local name=$1 socket
    shift
    socket=$(mktemp -u)
    "${owner[@]//SOCKET/$socket}" &
    local pid=$!
    for _ in $(seq 600); do [ -S "$socket" ] && break; kill -0 $pid 2>/dev/null || return; sleep 0.2; done
    sleep 0.5
    printf 'device memory in use by the owner: %s\n' "$(used)"
    (printf 'device memory in use during the check, at most: %s\n' \
        "$(for _ in $(seq 20); do used; sleep 0.2; done | sort -n | tail -n 1)") &
    "$bench" only=import owner="$socket" commit="$commit" json="$out/$name.json" "$@"
    wait
}

timeout 60 "$bench" gib=4 stream=0 sweep=0 || { echo "a short run failed"; exit 1; }

printf '\n== resident, streaming, sweeps\n'
"$bench" gib="${GIB:-112}" stream="${STREAM:-16}" commit="$commit" \
    hashlib="$here/bench/hashlib_rate.py" command="bench/gpu.sh" json="$out/device.json"

printf '\n== memory of a CUDA program\n'
owner=("$build/bin/gpu_hash_cuda_owner" SOCKET 50 20971520)
share import-check label="50 pieces of 20 MiB" pattern=1
owner=("$build/bin/gpu_hash_cuda_owner" SOCKET "${PIECES:-5120}" 20971520)
share import-cuda label="pieces of 20 MiB of a CUDA program"

printf '\n== memory of a PyTorch program\n'
owner=(python3 "$here/bench/gpu_hash/torch_owner.py" SOCKET "${TORCH_GIB:-100}" "$out/tensor.bin")
share import-torch label="tensors of PyTorch" check="$out/tensor.bin"
rm -f "$out/tensor.bin"

if [ "$(nvidia-smi -L 2>/dev/null | wc -l)" -gt 1 ]; then
    printf '\n== several GPUs\n'
    "$bench" only=spread devices=all gib="${SPREAD_GIB:-64}" stream="${SPREAD_STREAM:-32}" \
        commit="$commit" command="bench/gpu.sh" json="$out/spread.json"
fi

if [ "${FILES:-0}" -gt 0 ]; then
    printf '\n== reading files\n'
    "$build/bin/file_read_rate_bench" dir="$out" mib="$FILES" repeats=2 commit="$commit" \
        command="FILES=$FILES bench/gpu.sh" json="$out/files.json"
fi

if [ "$search" -gt 0 ]; then
    printf '\n== search\n'
    "$build/bin/gpu_hash_search" "$here/gpu_hash/opencl/kernels" "${DEVICE:-H200}" "$search" 32768 "$out" \
        >"$out/search.log" 2>&1
    tail -n 12 "$out/search.log" | cut -c1-330
fi
