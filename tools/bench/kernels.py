#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The program of `attest bench`: kernels.py --help."""

import sys

sys.dont_write_bytecode = True  # into the source tree, or into an installed one

from attest_bench.main import exit_status  # noqa: E402

if __name__ == "__main__":
    sys.exit(exit_status())
