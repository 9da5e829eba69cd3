#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# sweep.sh [--small] COMMAND...: runs a long sweep, or the part of it that ATTEST_PART names (K/N, as tools/test sets
# it); with --small the smaller part that ATTEST_SMALL_PART names.
set -euo pipefail
part=${ATTEST_PART:-}
if [[ $1 == --small ]]; then
  part=${ATTEST_SMALL_PART:-}
  shift
fi
exec "$@" ${part:+--part "$part"}
