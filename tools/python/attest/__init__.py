# SPDX-License-Identifier: MIT
"""attest: is this attention kernel right?

    import attest
    report = attest.check("attention.scaled_dot_product", fn, profile="bf16", params={"causal": True})
    print(report)               # the table that `attest check` prints
    report.raise_for_failure()  # AssertionError with the diagnosis, unless it passed

`fn(**inputs, **parameters)` gets and returns arrays: NumPy's, or with `like="torch"`, "jax" or "cupy" that library's.
"""

from attest._check import check, diagnose, reproduce
from attest._conformance import Conformance, conformance
from attest._pages import Case, Certified, Profile, describe, golden, operations, profiles
from attest._report import Failure, Fault, Interrupted, Report, Worst
from attest.native import UsageError, __version__

__all__ = [
    "Case",
    "Certified",
    "Conformance",
    "Failure",
    "Fault",
    "Interrupted",
    "Profile",
    "Report",
    "UsageError",
    "Worst",
    "__version__",
    "check",
    "conformance",
    "describe",
    "diagnose",
    "golden",
    "operations",
    "profiles",
    "reproduce",
]
