#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# regenerate.sh BUILD: certifying everything again gives the committed bytes, whatever the number of threads. With
# "clang" as second argument, so does a program that clang++ built (warnings as errors), from sources alone and without
# optimisation; the kernels are built with it as well.
set -euo pipefail
root=$(dirname "$(dirname "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")")")
build=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

same_bytes() {
  local into=$1 files=0
  while IFS= read -r file; do
    cmp "$root/golden/$file" "$into/$file"
    files=$((files + 1))
  done < <(cd "$root/golden" && find . -name '*.safetensors' -o -name '*.manifest.toml' | sort)
  [[ $files -gt 0 ]] || { echo "no golden files to compare"; exit 1; }
  echo "$files files are the same, byte for byte"
}

if [[ ${2:-} == clang ]]; then
  cmake -S "$root" -B "$build/clang" -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O0 -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++ \
    -DATTEST_TESTS=OFF -DATTEST_WARNINGS_AS_ERRORS=ON
  cmake --build "$build/clang" --target attest_certify attest_openmp
  "$build/clang/tests/attest_certify" "$root" "$scratch/clang"
  same_bytes "$scratch/clang"
else
  for threads in 1 2; do
    OMP_NUM_THREADS=$threads "$build/tools/attest-cli" golden regenerate --into "$scratch/$threads"
    same_bytes "$scratch/$threads"
  done
fi
"$build/tools/attest-cli" golden verify
