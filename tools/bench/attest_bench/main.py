# SPDX-License-Identifier: MIT
"""Times the kernels of a plugin beside published ones, in one run.

The plugin is called through its C interface: on the memory of a GPU with PyTorch, on a CPU with NumPy. Every kernel and
every peer first answers a small problem and the last rows of the timed one, and is timed only when float64 agrees
loosely; the precise judgement is that of `attest check`. In each round all of them run once, in turn, so that clocks
drift alike; before each run the caches are flushed. Times are medians over rounds. On a GPU a run lies between two
events behind a pause in which it is queued: it is time on the device, without that of launching. The ceilings, a large
copy and a large matrix product, run in the same rounds.

Kernels get tensors of layout bhnd, peers those of the layout that they want. A backward pass of a peer has what its
forward pass stored; that of a kernel has the inputs and the cotangent only.

Exit status: 0; 1 when a kernel of the plugin is wrong or returns an error; 2 wrong usage, or no GPU; 3 an invalid
plugin, or nothing of it that could be timed."""

import importlib
import os
import sys

from . import measure, options, record
from .errors import InvalidPlugin, UsageError
from .gpu import Gpu
from .host import Host
from .interface import CUDA
from .peers import peers_of
from .plugin import Plugin
from .table import table


def show(plugin, cases, chosen):
    print(f"{plugin.name} {plugin.version}, on a {'GPU' if plugin.device == CUDA else 'CPU'}")
    for case in cases:
        forms = [kernel.title() for kernel in plugin.kernels if kernel.answers(case) and kernel.layout == "bhnd"]
        print(f"{case.title()}: {' '.join(forms)}")
    for kind, case in {type(case): case for case in cases}.items():
        names = ", ".join(peers_of(kind, plugin.device, chosen))
        print(f"peers of {kind.equation} {kind.reading}{case.detail}: {names}")


def measure_all(plugin, memory, cases, chosen, result):
    """Measures case by case into the record, and prints each as a table. An interrupt, or a device that can do no more,
    is noted there and ends it."""
    try:
        for case in cases:
            result["cases"].append(measure.measure(plugin, memory, case, chosen))
            print(table(result["cases"][-1]))
        result["device_after"] = memory.description()
    except KeyboardInterrupt:
        result["interrupted"] = True
    except RuntimeError as error:  # after a bad access of a kernel no call to the device succeeds
        done = len(result["cases"])
        result["gave_up"] = f"the device gave up after {done} of {len(cases)} cases: {error}"


def summary(result):
    """Prints how many kernels and peers have which status; returns those of the kernels."""
    ours, peers = (
        [row["status"] for case in result["cases"] for row in case["subjects"] if row["kind"] == kind]
        for kind in ("kernel", "peer")
    )
    print(
        f"Kernels: {ours.count('timed')} timed, {ours.count('wrong')} wrong, {ours.count('failed')} failed, "
        f"{ours.count('outside')} outside their capabilities"
    )
    print(
        f"Peers: {peers.count('timed')} timed, {peers.count('absent')} not installed, "
        f"{peers.count('wrong')} compute something else, {peers.count('failed')} failed, "
        f"{peers.count('outside')} do not apply"
    )
    return ours


def main():
    chosen = options.parser(__doc__).parse_args()
    sys.stdout.reconfigure(line_buffering=True)
    try:
        importlib.import_module("torch")  # first, so that a plugin's libraries do not stand in for its own
    except ImportError:
        pass
    plugin = Plugin(options.library(chosen.plugin))
    options.settle(chosen, plugin)
    cases = options.cases_of(chosen, plugin)
    if chosen.list:
        show(plugin, cases, chosen)
        return 0
    memory = Gpu() if plugin.device == CUDA else Host()
    result = record.header(plugin, memory, chosen)
    if chosen.json:
        record.write(chosen.json, result)  # before an hour of timing, not after it
    print(f"{plugin.name} {plugin.version} on {result['device']['name']}, {result['date']}\n")
    measure_all(plugin, memory, cases, chosen, result)
    ours = summary(result)
    if chosen.json:
        record.write(chosen.json, result)
    if "gave_up" in result:
        raise InvalidPlugin(f"{plugin.path}: {result['gave_up']}")
    if "interrupted" in result:
        return 130
    if "wrong" in ours or "failed" in ours:
        print("attest bench: a kernel of the plugin is wrong or failed, and has no time", file=sys.stderr)
        return 1
    if "timed" not in ours:
        raise InvalidPlugin(f"{plugin.path}: no kernel could be timed")
    return 0


def exit_status():
    try:
        return main()
    except UsageError as error:
        print(f"attest bench: {error}", file=sys.stderr)
        return 2
    except InvalidPlugin as error:
        print(f"attest bench: INVALID: {error}", file=sys.stderr)
        return 3
    except BrokenPipeError:  # as in `| head`: nobody reads on, the interpreter's last flush included
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
