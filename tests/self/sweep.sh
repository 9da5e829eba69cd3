#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# sweep.sh COMMAND...: runs a long sweep, or the part of it that ATTEST_PART names (K/N, as tools/test sets it).
set -euo pipefail
exec "$@" ${ATTEST_PART:+--part "$ATTEST_PART"}
