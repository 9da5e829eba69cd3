# SPDX-License-Identifier: MIT
"""The command line of `attest bench`, and the cases that it asks for."""

import argparse
import fnmatch
import itertools
import os
import pathlib

from .equations import CASES, EQUATIONS
from .errors import InvalidPlugin, UsageError
from .interface import CUDA
from .measure import BLOCK, TOLERANCE

DEFAULT_DTYPES = ("bf16", "f16", "f32")


def library(name):
    """NAME is libattest_NAME.so among the project's plugins, anything with a dot or a slash a path."""
    if "/" in name or "." in name:
        path = pathlib.Path(name)
        if not path.is_file():
            raise InvalidPlugin(f"{name} does not exist")
        return path.resolve()
    folder = os.environ.get("ATTEST_PLUGIN_DIR")
    if not folder:
        raise UsageError(
            "ATTEST_PLUGIN_DIR does not name the folder of the plugins; `attest bench` does that, a path needs none"
        )
    path = pathlib.Path(folder) / f"libattest_{name.replace('-', '_')}.so"
    if not path.is_file():
        has = sorted(found.name[10:-3].replace("_", "-") for found in pathlib.Path(folder).glob("libattest_*.so"))
        raise InvalidPlugin(f"there is no plugin {name} in {folder}; it has {', '.join(has) or 'none'}")
    return path


def positive(value):
    number = int(value)
    if number < 1:
        raise ValueError
    return number


def integers(value):
    return [positive(part) for part in value.split(",")]


def tokens(value):
    numbers = integers(value)
    if min(numbers) < BLOCK:
        raise ValueError
    return numbers


# The names that argparse prints in messages.
integers.__name__ = positive.__name__ = "positive integer"
tokens.__name__ = f"number of tokens (at least {BLOCK})"


def dtypes(value):
    names = value.split(",")
    if not set(names) <= set(TOLERANCE):
        raise ValueError
    return names


dtypes.__name__ = f"dtype (of {', '.join(TOLERANCE)})"


def add_switches(one):
    extent = one.add_mutually_exclusive_group()
    extent.add_argument(
        "--quick", action="store_true", help="the first of each list only, and a third of the default rounds"
    )
    extent.add_argument(
        "--all",
        action="store_true",
        help="all combinations (default: those that differ from the first in one of the lists)",
    )
    one.add_argument(
        "--compile", action="store_true", help="time what torch.compile makes of the PyTorch forms as well"
    )
    one.add_argument("--list", action="store_true", help="show the kernels, cases and peers, and time nothing")
    one.add_argument("--json", metavar="FILE", help="write the record to this file as well, raw times included")


def parser(description):
    one = argparse.ArgumentParser(
        prog="attest bench", description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    one.add_argument(
        "plugin", metavar="NAME|PATH", help="cuda, cuda-emulated, openmp ..., or the path of a plugin library"
    )
    one.add_argument(
        "--equation", default="*", help=f"glob over the equations that can be timed: {', '.join(EQUATIONS)}"
    )
    one.add_argument(
        "--dtype", type=dtypes, help="as in bf16,f32 (default: bf16, f16 and f32, where the plugin has them)"
    )
    one.add_argument(
        "--tokens",
        type=tokens,
        metavar="N,..",
        help="default 65536,8192,1024 on a GPU, 4096,1024 on a CPU; of softmax attention 16384,4096,1024 and 1024,256",
    )
    one.add_argument(
        "--width",
        type=integers,
        metavar="D,..",
        help="features and width of values (default 128,64,256 on a GPU, 64 on a CPU)",
    )
    one.add_argument("--heads", type=positive, help="default 16 on a GPU, 4 on a CPU")
    one.add_argument(
        "--batch",
        type=integers,
        metavar="B,..",
        help="sequences (default 1; of linear.causal_step 64,256 on a GPU, 16 on a CPU)",
    )
    one.add_argument("--rounds", type=positive, help="default 30 on a GPU, 7 on a CPU")
    one.add_argument(
        "--seconds", type=float, default=30, help="after which a case begins no further round (default 30)"
    )
    add_switches(one)
    return one


def settle(options, plugin):
    """Defaults that depend on the device."""
    gpu = plugin.device == CUDA
    options.width = options.width or ([128, 64, 256] if gpu else [64])
    options.heads = options.heads or (16 if gpu else 4)
    options.rounds = options.rounds or (30 if gpu else 7) // (3 if options.quick else 1)


def cases_of(options, plugin):
    """The problems to be timed. Raises UsageError where nothing has the equation's name, and InvalidPlugin where the
    plugin has no kernel of it."""
    if not fnmatch.filter(EQUATIONS, options.equation):
        raise UsageError(
            f"--equation '{options.equation}' matches nothing that can be timed; there are {', '.join(EQUATIONS)}"
        )
    dtypes = options.dtype or list(DEFAULT_DTYPES)
    cases = []
    for kind in CASES:
        if not fnmatch.fnmatchcase(kind.equation, options.equation):
            continue
        has = {kernel.dtype for kernel in plugin.kernels if kernel.is_of(kind)}
        lengths = options.tokens or kind.lengths[plugin.device] if kind.lengths else [1]
        lists = [
            [dtype for dtype in dtypes if dtype in has],
            options.batch or kind.batches[plugin.device],
            [options.heads],
            options.width,
            lengths,
        ]
        for places in itertools.product(*(range(len(values)) for values in lists)):
            if options.all or sum(place > 0 for place in places) <= (0 if options.quick else 1):
                cases.append(kind(*(values[place] for values, place in zip(lists, places))))
    if not cases:
        known = [kernel for kernel in plugin.kernels if kernel.equation in EQUATIONS]
        has = sorted({f"{kernel.equation} {kernel.reading} {kernel.dtype}" for kernel in known})
        raise InvalidPlugin(
            f"{plugin.path} has no kernel of {options.equation} in {','.join(dtypes)}; "
            f"it has {', '.join(has) or 'none that can be timed'}"
        )
    return cases
