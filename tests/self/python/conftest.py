# SPDX-License-Identifier: MIT
import os
import subprocess
import sys

import pytest

SKIPPED = 77  # as ctest counts it

# Multiplies, and prints the core type that NumPy's OpenBLAS runs as.
CORE = """
import ctypes, re, numpy
numpy.ones((64, 64), "f4") @ numpy.ones((64, 64), "f4")
library = ctypes.CDLL(re.search(r"\\S*openblas\\S*", open("/proc/self/maps").read())[0])
names = [prefix + "openblas_get_corename" + suffix for prefix in ("scipy_", "") for suffix in ("64_", "")]
name = next(getattr(library, name) for name in names if hasattr(library, name))
name.restype = ctypes.c_char_p
print(name().decode())
"""


def pytest_sessionstart(session):
    """Tests that ask for a core type of OpenBLAS are left out, and counted, where the processor lacks its
    instructions."""
    wanted = os.environ.get("OPENBLAS_CORETYPE")
    if not wanted:
        return
    done = subprocess.run([sys.executable, "-c", CORE], capture_output=True, text=True)
    if done.stdout.strip() != wanted:
        pytest.exit(
            f"skipped: NumPy's matrix products cannot run as on {wanted} here "
            f"({done.stdout.strip() or f'status {done.returncode}'})",
            returncode=SKIPPED,
        )


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session, exitstatus):
    """A session that only skipped is a skip for ctest too, so that it is counted there."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if exitstatus == 0 and reporter.stats.get("skipped") and not reporter.stats.get("passed"):
        session.exitstatus = SKIPPED
