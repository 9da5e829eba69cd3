#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# nvcc.sh ARCHITECTURE PROJECT OBJECT: compiles kernels.cu for a GPU; any warning is an error, and so is dynamic shared
# memory that may begin anywhere: a tile with a swizzle begins at a multiple of 1 KiB. Exits with 77 where there is no
# nvcc.
set -euo pipefail
nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null) || {
  echo "no nvcc on this machine"
  exit 77
}
compile() {
  "$nvcc" -std=c++20 -Werror all-warnings -Xcompiler -Wall,-Wextra,-Wshadow,-Werror \
    -I"$project/optimized/cuda/include" "$@" "$project/tests/self/emulation/kernels.cu"
}
project=$2
compile -gencode=arch=compute_"${1#sm_}",code="$1" -c -o "$3"
compile -arch=compute_"${1#sm_}" -ptx -o "$3.ptx"
grep -q 'extern .shared .align 1024 .*attest_cuda_dynamic_shared' "$3.ptx" || {
  echo "dynamic shared memory is not declared with an alignment of 1024 bytes"
  exit 1
}
