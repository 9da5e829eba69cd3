#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# nvcc.sh architecture project object: compiles kernels.cu for a GPU; any warning is an error. 77 where there is no
# nvcc.
set -euo pipefail
nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null) || {
  echo "no nvcc on this machine"
  exit 77
}
exec "$nvcc" -std=c++20 -gencode=arch=compute_"${1#sm_}",code="$1" -Werror all-warnings \
  -Xcompiler -Wall,-Wextra,-Wshadow,-Werror -I"$2/optimized/cuda/include" -c "$2/tests/self/emulation/kernels.cu" -o "$3"
