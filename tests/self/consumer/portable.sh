#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# portable.sh BUILD: makes the portable folder of the folder BUILD, and sees its check find what it should.
set -euo pipefail

if (($# != 1)) || [[ ! -f ${1:-}/CMakeCache.txt ]]; then
  echo "usage: $0 BUILD    (a built CMake folder)" >&2
  exit 2
fi
export ATTEST_BUILD_DIR=$1
portable=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../../../tools/portable
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

expect() { # STATUS WORDS COMMAND...: the command ends with the status and says the words
  local status=0
  "${@:3}" >"$scratch/log" 2>&1 || status=$?
  if ((status != $1)) || ! grep -qF -- "$2" "$scratch/log"; then
    cat "$scratch/log" >&2
    echo "expected status $1 and '$2' of ${*:3}; the status is $status" >&2
    exit 1
  fi
}

repacked() { # the folder with its tree changed by the command $1, run in it
  rm -rf "$scratch/tree" "$scratch/wrong"
  mkdir "$scratch/tree"
  cp -r "$scratch/made" "$scratch/wrong"
  tar -xzf "$scratch/made/attest.tar.gz" -C "$scratch/tree"
  (cd "$scratch/tree" && eval "$1")
  tar -C "$scratch/tree" -c . | gzip -1 >"$scratch/wrong/attest.tar.gz"
}

mkdir "$scratch/made"
touch "$scratch/made/attest.tar.gz" # what an earlier call left is replaced
expect 0 "attest golden verify" "$portable" "$scratch/made"

# First calls at the same time unpack it once.
cp -r "$scratch/made" "$scratch/moved"
for _ in 1 2 3 4; do (cd / && env -i PATH=/usr/bin:/bin "$scratch/moved/attest" list >>"$scratch/lists") & done
wait
listed=$(grep -c '^linear.causal ' "$scratch/lists" || true)
files=$(find "$scratch/moved" -mindepth 1 -maxdepth 1 | wc -l)
if ((listed != 4 || files != 5)); then
  ls -a "$scratch/moved" >&2
  exit 1
fi
expect 0 "attest openmp" env ATTEST_PYTHON="$(command -v python3)" "$scratch/moved/attest" bench openmp --list
# A program for a GPU finds its libraries there, and no driver.
expect 1 "attention_sizes: finished, status 1" env ATTEST_CUDA_DRIVER=/none python3 "$scratch/moved/gpu.py" \
  --into "$scratch/gpu" attention_sizes
expect 0 "attest golden verify" "$portable" --check "$scratch/moved" # what it unpacked does not count

repacked 'rm lib*/attest/libgmp.so.*'
expect 1 "finds it outside the folder" "$portable" --check "$scratch/wrong"
repacked 'rm lib*/attest/libattest_openmp.so'
expect 1 "attest check openmp --only linear.causal* --max-cases 3 --laws 0 failed" "$portable" --check "$scratch/wrong"
repacked 'printf x >>share/attest/golden/linear/causal.safetensors'
expect 1 "attest golden verify failed" "$portable" --check "$scratch/wrong"
truncate -s 1000 "$scratch/wrong/attest.tar.gz"
expect 1 "cannot unpack" "$portable" --check "$scratch/wrong"
truncate -s 49M "$scratch/wrong/attest.tar.gz"
expect 1 "bytes, more than 50331648" "$portable" --check "$scratch/wrong"
expect 2 "is nothing that portable made" "$portable" --check "$scratch/tree"
expect 2 "is there already" "$portable" "$scratch/tree"
expect 2 "usage" "$portable" --chek "$scratch/made"
