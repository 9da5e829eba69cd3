#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# record.sh FILE COMMAND...: runs the command, whose output goes to FILE as well, under a line with the command. Pages
# show what such records hold (tools/docs).
set -euo pipefail
mkdir -p "$(dirname "$1")"
rm -f "$1"
"${@:2}" | tee "$1.new"
{ echo "${@:2}"; cat "$1.new"; } >"$1"
rm "$1.new"
