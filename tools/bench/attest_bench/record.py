# SPDX-License-Identifier: MIT
"""The record of a run as JSON: machine, versions, settings, and every time that was taken."""

import datetime
import hashlib
import importlib.metadata
import json
import os
import pathlib
import platform
import subprocess
import sys

from .case import CHECKED_TOKENS
from .equations.linear import CHUNK
from .errors import UsageError
from .measure import CHECKED_ROWS, TOLERANCE, WARM_UP


def version(package):
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def commit():
    """The commit of the checkout that this file lies in, or None."""
    root = pathlib.Path(__file__).resolve().parents[3]
    if not (root / ".git").exists():
        return None
    try:
        done = subprocess.run(
            ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=40"],
            capture_output=True,
            text=True,
            timeout=60,
        )
        return done.stdout.strip() if done.returncode == 0 else None
    except (OSError, subprocess.TimeoutExpired):
        return None


def write(path, record):
    """All or nothing."""
    temporary = f"{path}.tmp-{os.getpid()}"
    try:
        pathlib.Path(temporary).write_text(json.dumps(record, indent=1) + "\n")
        os.replace(temporary, path)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error}") from None


PACKAGES = ("numpy", "torch", "triton", "flash-attn", "flash-linear-attention", "fla-core", "pytorch-fast-transformers")


def header(plugin, memory, options):
    """All that is known before the first case."""
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "command": sys.argv[1:],
        "plugin": {
            "name": plugin.name,
            "version": plugin.version,
            "path": str(plugin.path),
            "commit": commit(),
            "sha256": hashlib.sha256(plugin.path.read_bytes()).hexdigest(),
        },
        "device": memory.description(),
        "system": platform.platform(),
        "versions": {"python": platform.python_version(), **{package: version(package) for package in PACKAGES}},
        "settings": {
            "rounds": options.rounds,
            "warm_up": WARM_UP,
            "flushed_bytes": memory.flushed,
            "tolerance": TOLERANCE,
            "checked_tokens": CHECKED_TOKENS,
            "checked_rows": CHECKED_ROWS,
            "chunk": CHUNK,
        },
        "cases": [],
    }
