#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# rotating.sh I COMMAND...: runs a command in one of the parts that ATTEST_PART may name (K/N, as tools/test sets it),
# that with K = I modulo N; in the others it says so and exits with 77, a skip. Without ATTEST_PART it always runs.
set -euo pipefail
turn=$1
shift
if [[ ${ATTEST_PART:-} =~ ^([0-9]+)/([0-9]+)$ ]]; then
  part=${BASH_REMATCH[1]} parts=${BASH_REMATCH[2]}
  if ((turn % parts != part % parts)); then
    echo "Part $part of $parts: '$*' is left out"
    exit 77
  fi
fi
exec "$@"
