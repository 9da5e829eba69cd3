#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The program of `attest bench`: kernels.py --help."""

import os
import sys

sys.dont_write_bytecode = True  # into the source tree, or into an installed one

from attest_bench.main import exit_status  # noqa: E402

if __name__ == "__main__":
    file = os.environ.pop("ATTEST_STATUS_FILE", None)
    try:
        status = exit_status()
    except SystemExit as end:  # of help, or of wrong usage
        status = end.code or 0
    if file:  # the command that started this takes no other end for one
        with open(file, "w") as stream:
            stream.write(str(status))
    sys.exit(status)
