# SPDX-License-Identifier: MIT
"""Checks the kernels of a plugin and their peers loosely against float64, and times in turn those that are right."""

import math
import random
import statistics
import sys
import time

from .capabilities import unmet
from .case import Tensor
from .errors import NotTimed
from .peers import peers_of
from .plugin import Call

CHECKED_ROWS = 64  # of the timed problem's last head
BLOCK = 16  # rows whose error is measured together: the first gradient of a query is exactly 0
TOLERANCE = {"f64": 1e-9, "f32": 0.02, "f16": 0.2, "bf16": 0.2}  # of each block's norm; f32 is loose enough for TF32
WARM_UP = 3


def error_of(memory, case, inputs, found, rows):
    """The largest error of a block of rows of any output, relative to its true norm, over the last `rows` tokens. NaN
    is infinite."""
    worst = 0.0
    for name, true in case.truth(memory.xp, {name: memory.numbers(x) for name, x in inputs.items()}, rows).items():
        got = found[name]
        if case.tokens > rows:
            got = got[:, :, -rows:]
        if tuple(got.shape) != tuple(true.shape):
            raise NotTimed("wrong", f"{name} has shape {tuple(got.shape)}, not {tuple(true.shape)}")
        wrong, size = (((x**2).sum(-1)) for x in (got - true, true))
        if len(wrong.shape) == 2:  # one row per head
            wrong, size = wrong[..., None], size[..., None]
        for first in range(0, wrong.shape[2], BLOCK):
            block = slice(first, first + BLOCK)
            error = float((wrong[:, :, block].sum(-1) / size[:, :, block].sum(-1)).max()) ** 0.5
            worst = max(worst, error if error == error else math.inf)
    return worst


def renew(memory, case, inputs):
    """Draws the last head of every input anew, in place: an answer that is kept from an earlier call is wrong then."""
    for name, tensor in case.inputs().items():
        if tensor.dtype != "i64" and tensor.low < tensor.high:
            last = inputs[name][-1:, -1:]
            last[...] = memory.draw(Tensor(last.shape, tensor.dtype, tensor.low, tensor.high))
    memory.finish()


def head(arrays):
    """The last head of each tensor."""
    return {name: x[-1:, -1:] for name, x in arrays.items()}


class Subject:
    """A kernel, a peer or a ceiling, with its times or the reason why it has none."""

    def __init__(self, name, kind):
        self.name, self.kind = name, kind  # "kernel", "peer" or "ceiling"
        self.status, self.reason, self.error, self.run, self.times = "timed", None, None, None, []
        self.flops = self.bytes = 0
        self.still_right = None  # of a kernel of the plugin: compares what the last call wrote; raises NotTimed

    def compare(self, memory, case, of, inputs, rows, answer):
        """Compares what a call has written; `of` is the problem. Raises NotTimed."""
        small = of.tokens <= rows
        known, given = (inputs, answer) if small else (head(inputs), head(answer))
        # Copies, in the order of the stream: what another thread or stream writes later was not there in time.
        given = {name: memory.numbers(x) for name, x in given.items()}
        memory.finish()
        error = error_of(memory, of, known, given, min(rows, of.tokens))
        self.error = max(self.error or 0, error)
        if not error <= TOLERANCE[case.dtype]:
            where = "of the small problem" if small else "in the last rows"
            raise NotTimed("wrong", f"{where} the error is {error:.2g}")

    def confirm(self):
        """Takes the times of one that kept an answer from an earlier call, or has not answered yet."""
        try:
            self.still_right()
        except NotTimed as why:
            self.status, self.times = why.status, []
            self.reason = f"of a timed call, with inputs that changed in place, {why}"

    def prepare(self, memory, case, make, problems):
        """make(case, inputs) -> (run, result). Answers the small problem and the timed one before it may be timed."""
        try:
            self.flops, self.bytes = case.flops(), case.bytes()
            for of, inputs, rows in problems:
                run, result = make(of, inputs)
                self.compare(memory, case, of, inputs, rows, result(run()))
            self.run = run
            if self.kind == "kernel":  # a peer may have copied its inputs
                self.still_right = lambda: self.compare(memory, case, of, inputs, rows, result(None))
            for _ in range(WARM_UP):
                self.run()
            memory.finish()
        except NotTimed as why:
            self.status, self.reason = why.status, str(why)
        except Exception as error:  # of a peer, or out of memory: whatever it is, the others are timed
            self.status, self.reason = "failed", f"{type(error).__name__}: {error}".splitlines()[0][:300]

    def record(self, best):
        found = {"name": self.name, "kind": self.kind, "status": self.status, "flops": self.flops, "bytes": self.bytes}
        if self.reason:
            found["reason"] = self.reason
        if self.error is not None:
            found["error"] = min(self.error, sys.float_info.max)  # JSON has no infinity
        if self.times:
            median = statistics.median(self.times)
            quarter = statistics.quantiles(self.times, n=4, method="inclusive") if len(self.times) > 1 else [median] * 3
            found.update(
                seconds=self.times,
                median=median,
                spread=(quarter[2] - quarter[0]) / median,
                flops_per_second=self.flops / median,
                bytes_per_second=self.bytes / median,
            )
            if self.kind != "ceiling":
                found["ratio"] = statistics.median(mine / ours for mine, ours in zip(self.times, best.times))
        return found


def kernel_subjects(plugin, memory, case, problems):
    kernels = [kernel for kernel in plugin.kernels if kernel.answers(case)]
    timed = {kernel.title() for kernel in kernels if kernel.layout == "bhnd"}  # the same in another layout is not
    kernels = [kernel for kernel in kernels if kernel.layout == "bhnd" or kernel.title() not in timed]
    for kernel, condition in zip(kernels, unmet(kernels, case)):
        subject = Subject(kernel.title(), "kernel")
        if kernel.layout != "bhnd":
            subject.status, subject.reason = "outside", f"layout {kernel.layout}; bhnd is timed"
        elif condition:
            subject.status, subject.reason = "outside", f"outside its capabilities: {condition}"
        else:

            def make(of, inputs, kernel=kernel):
                outputs = {name: memory.empty(tensor) for name, tensor in of.outputs().items()}
                return Call(kernel, of, memory, inputs, outputs), lambda _: outputs

            subject.prepare(memory, case, make, problems)
        yield subject


def peer_subjects(memory, case, problems, options):
    for name, prepare in peers_of(case, memory.device, options).items():
        subject = Subject(name, "peer")
        subject.prepare(memory, case, lambda of, inputs, prepare=prepare: prepare(memory, of, inputs), problems)
        yield subject


def ceiling_subjects(memory, case):
    for name, run, flops, moved in memory.ceilings(case.dtype):
        subject = Subject(name, "ceiling")
        subject.run, subject.flops, subject.bytes = run, flops, moved
        for _ in range(WARM_UP):
            run()
        yield subject


def timed_in_turn(memory, case, inputs, subjects, options):
    """Times all of them once a round, each with inputs that are new in part, until the rounds or the seconds are
    spent. What a timed call of a kernel has written is compared in the first round and in each other one by chance, so
    that no kernel knows which call counts for what."""
    end = time.monotonic() + options.seconds
    chance = random.SystemRandom()
    for number in range(options.rounds):
        if number and time.monotonic() > end:
            break
        for subject in subjects:
            if subject.status != "timed":
                continue
            renew(memory, case, inputs)
            subject.times.append(memory.seconds(subject.run))
            if subject.still_right and (number == 0 or chance.random() < 0.5):
                subject.confirm()


def rows_of(plugin, memory, case, problems, options):
    """The records of all kernels, peers and ceilings; the peers' have times where a kernel has."""
    subjects = [*kernel_subjects(plugin, memory, case, problems), *peer_subjects(memory, case, problems, options)]
    right = [subject for subject in subjects if subject.run and subject.status == "timed"]
    ours = [subject for subject in right if subject.kind == "kernel"]
    if ours:
        ceilings = list(ceiling_subjects(memory, case))
        subjects += ceilings
        timed_in_turn(memory, case, problems[-1][1], right + ceilings, options)
        ours = [subject for subject in ours if subject.times]
    if not ours:
        for subject in right:
            if subject.status == "timed":
                subject.status, subject.reason, subject.times = (
                    "outside",
                    "no kernel of the plugin to compare it with",
                    [],
                )
    best = min(ours, key=lambda subject: statistics.median(subject.times), default=None)
    return [subject.record(best) for subject in subjects]


def measure(plugin, memory, case, options):
    """The record of a case: what it is, and a row for each kernel, peer and ceiling."""
    small = case.small()
    found = {
        "equation": case.equation,
        "reading": case.reading,
        "dtype": case.dtype,
        "batch": case.batch,
        "heads": case.heads,
        "sizes": case.sizes(),
        "parameters": case.parameters,
        "flops": case.flops(),
        "bytes": case.bytes(),
        "title": case.title(),
    }
    try:
        inputs = {name: memory.draw(tensor) for name, tensor in case.inputs().items()}
    except Exception as error:
        if type(error).__name__ not in ("OutOfMemoryError", "_ArrayMemoryError", "MemoryError"):
            raise
        return {**found, "subjects": [], "reason": "its inputs do not fit into memory"}
    problems = [
        (small, {name: memory.draw(tensor) for name, tensor in small.inputs().items()}, small.tokens),
        (case, inputs, CHECKED_ROWS),
    ]
    return {**found, "subjects": rows_of(plugin, memory, case, problems, options)}
