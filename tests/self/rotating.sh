#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# rotating.sh [--small] I COMMAND...: runs a command in one of the parts that ATTEST_PART may name (K/N, as tools/test
# sets it), that with K = I modulo N; in the others it says so and exits with 77, a skip. With --small it is one of the
# smaller parts, ATTEST_SMALL_PART. Without the variable it always runs.
set -euo pipefail
of=${ATTEST_PART:-}
if [[ $1 == --small ]]; then
  of=${ATTEST_SMALL_PART:-}
  shift
fi
turn=$1
shift
if [[ $of =~ ^([0-9]+)/([0-9]+)$ ]]; then
  part=${BASH_REMATCH[1]} parts=${BASH_REMATCH[2]}
  if ((turn % parts != part % parts)); then
    echo "Part $part of $parts: '$*' is left out"
    exit 77
  fi
fi
exec "$@"
