#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# tidy.sh BUILD: tools/tidy of all files, or of a few that go with the commit where ATTEST_PART asks for a part.
set -euo pipefail
exec "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../../tools/tidy" --build "$1" ${ATTEST_PART:+--sample 24}
