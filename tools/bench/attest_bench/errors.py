# SPDX-License-Identifier: MIT
"""The ways in which a run, or a kernel, ends without times."""

OTHER_PYTHON = "name another interpreter by ATTEST_PYTHON"


class UsageError(Exception):
    """A wrong command line, or a machine that cannot do it: exit status 2."""


class InvalidPlugin(Exception):
    """Exit status 3."""


class NotTimed(Exception):
    """Why a kernel or a peer has no time: `status` is "absent", "outside", "wrong" or "failed"."""

    def __init__(self, status, reason):
        super().__init__(reason)
        self.status = status
