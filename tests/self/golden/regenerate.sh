#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# regenerate.sh BUILD: certifying everything again gives the committed bytes, whatever the number of threads. With
# "clang" as second argument, so does a program that clang++ built (warnings as errors), from sources alone and without
# optimisation; the kernels are built with it as well, and some that run tasks of LLVM's OpenMP are judged. With
# --part K/N behind, one number of threads, or clang's in the first part alone, a skip (77) in the others: its build is
# what costs.
set -euo pipefail
root=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../../..
build=$1
shift
compiler=
if [[ ${1:-} == clang ]]; then
  compiler=clang
  shift
fi
part=1/1
if [[ ${1:-} == --part ]]; then
  part=$2
  shift 2
fi
if (($#)) || ! [[ $part =~ ^([0-9]+)/([0-9]+)$ ]]; then
  echo "usage: $0 BUILD [clang] [--part K/N]" >&2
  exit 2
fi
number=${BASH_REMATCH[1]} parts=${BASH_REMATCH[2]}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

same_bytes() { # FOLDER: the files that were written are the committed ones, and all of them
  local written committed
  written=$(cd "$1" && find . -type f | sort)
  committed=$(cd "$root/golden" && find . -name '*.safetensors' -o -name '*.manifest.toml' | sort)
  [[ $written == "$committed" ]] || { diff <(echo "$written") <(echo "$committed") || exit 1; }
  while IFS= read -r file; do cmp "$root/golden/$file" "$1/$file"; done <<<"$written"
  echo "$(wc -l <<<"$written") files are the same, byte for byte"
}

left_out() { # TAKEN ALL THINGS
  ((parts == 1)) || echo "Part $number of $parts: $1 of $2 $3; $(($2 - $1)) are left out"
}

if [[ $compiler ]] && ((number > 1)); then
  left_out 0 1 "builds by clang"
  exit 77
elif [[ $compiler ]]; then
  cmake -S "$root" -B "$build/clang" -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O0 \
    -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++ \
    -DATTEST_TESTS=OFF -DATTEST_WARNINGS_AS_ERRORS=ON
  cmake --build "$build/clang" --target attest_certify attest_openmp
  "$build/clang/tests/self/attest_certify" "$root" "$scratch/clang"
  same_bytes "$scratch/clang"
  ATTEST_PLUGIN_DIR=$build/clang/plugins "$build/tools/attest-cli" check openmp --only 'linear.feature_map.*'
else
  counts=(1 2)
  ((parts == 1)) || counts=($((number % 2 + 1)))
  for threads in "${counts[@]}"; do
    OMP_NUM_THREADS=$threads "$build/tools/attest-cli" golden regenerate --into "$scratch/$threads"
    same_bytes "$scratch/$threads"
  done
  left_out "${#counts[@]}" 2 "numbers of threads"
fi
"$build/tools/attest-cli" golden verify
