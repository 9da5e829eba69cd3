# SPDX-License-Identifier: MIT
"""Which cases a kernel can be given, as the attest command decides it."""

import json
import os
import shutil
import subprocess

from .errors import InvalidPlugin, UsageError


def command():
    found = os.environ.get("ATTEST_CLI") or shutil.which("attest")
    if not found:
        raise UsageError("the attest command decides capabilities: start `attest bench`, or name it by ATTEST_CLI")
    return found


def unmet(kernels, case):
    """For each kernel the first condition of its capabilities that the case does not meet, or None. Conditions on other
    things than sizes, parameters and tensors do not count. Raises InvalidPlugin where capabilities cannot be read."""
    if not any(kernel.capabilities for kernel in kernels):
        return [None] * len(kernels)
    question = {
        "equation": case.equation,
        "sizes": case.sizes(),
        "parameters": case.parameters,
        "capabilities": [kernel.capabilities for kernel in kernels],
    }
    try:
        done = subprocess.run(
            [command(), "bench", "--unmet-conditions"], input=json.dumps(question), capture_output=True, text=True
        )
    except OSError as error:
        raise UsageError(f"cannot start the attest command: {error}") from None
    if done.returncode:
        raise InvalidPlugin(done.stderr.strip().removeprefix("attest: "))
    return json.loads(done.stdout)
