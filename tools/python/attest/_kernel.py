# SPDX-License-Identifier: MIT
"""A Python function as a kernel: its arguments, and the checks on what it returns."""

from __future__ import annotations

import collections
import contextvars
import functools
import hashlib
import inspect
import os
import queue
import random
import threading
import time
import traceback
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future
from typing import Any

import ml_dtypes  # noqa: F401  (registers bfloat16 with NumPy)
import numpy as np

from attest._frameworks import NUMPY, NumPy, to_numpy
from attest.native import UsageError

KEPT = 4  # answers of the last calls that are watched for later writes
SAMPLED = 256  # answers of all calls that are looked at again at the end of the run
SAMPLED_BYTES = 64 << 20  # of memory that these may hold
RAGGED = {"thd": ("offsets",), "pkv": ("pages", "lengths")}  # arguments of layouts whose sequences differ in length


class Broken(Exception):
    """A kernel broke the contract; the message is the finding."""


class Refused(Exception):
    """A kernel raised an error; the message says which and where. native.run() tells it from other findings."""


class Signature:
    """Which of an equation's inputs and parameters a function takes by name."""

    def __init__(self, function: Callable, page: Mapping[str, Any], extra: tuple[str, ...] = ()):
        self.inputs = [tensor["name"] for tensor in page["inputs"]]
        self.optional = [tensor["name"] for tensor in page["inputs"] if tensor["optional"]]
        self.parameters = [parameter["name"] for parameter in page["parameters"]]
        try:
            arguments = inspect.signature(function).parameters.values()
        except (TypeError, ValueError):  # a builtin that does not tell
            self.all, self.names = True, set()
            return
        self.all = any(argument.kind is argument.VAR_KEYWORD for argument in arguments)
        named = [
            argument
            for argument in arguments
            if argument.kind in (argument.POSITIONAL_OR_KEYWORD, argument.KEYWORD_ONLY)
        ]
        self.names = {argument.name for argument in named}
        gives = f"{page['id']} gives {', '.join(self.inputs + self.parameters + list(extra))}"
        for name in [name for name in self.inputs if name not in self.optional] + list(extra):
            if not self.takes(name):
                raise UsageError(f"the kernel takes no argument '{name}'; it is called with keywords, and {gives}")
        for argument in arguments:
            needed = argument.default is argument.empty and argument.kind not in (
                argument.VAR_KEYWORD,
                argument.VAR_POSITIONAL,
            )
            if needed and argument.kind is argument.POSITIONAL_ONLY:
                raise UsageError(
                    f"the kernel's argument '{argument.name}' is positional only; kernels are called with keywords"
                )
            if needed and argument.name not in (*self.inputs, *self.parameters, *extra):
                raise UsageError(f"the kernel wants an argument '{argument.name}'; {gives}")
            if needed and argument.name in self.optional:
                raise UsageError(
                    f"the kernel must have a default for '{argument.name}', which not every case gives: "
                    f"{argument.name}=None"
                )

    def takes(self, name: str) -> bool:
        return self.all or name in self.names


def bytes_of(x: Any) -> bytes:
    return np.ascontiguousarray(to_numpy(x)).tobytes()


def digest(x: Any) -> bytes:
    """The same for the same elements."""
    return hashlib.blake2b(np.ascontiguousarray(to_numpy(x)), digest_size=16).digest()


class Sample:
    """A random sample of the arrays that a kernel has returned, each with what was read from it at the time. The kernel
    may hand out few buffers in turn, or many: what is written to again is seen at the end."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.seen = 0
        self.bytes = 0
        self.kept: list[tuple[str, Any, bytes, int]] = []

    def add(self, name: str, x: Any, array: np.ndarray) -> None:
        """Keeps the array by Vitter's algorithm R, as far as memory allows."""
        self.seen += 1
        place = len(self.kept) if len(self.kept) < SAMPLED else self.random.randrange(self.seen)
        if place >= SAMPLED or array.nbytes > SAMPLED_BYTES:
            return
        x = x.detach() if hasattr(x, "detach") else x  # or it would hold all that its gradient needs
        if place < len(self.kept):
            self._drop(place)
        self.kept.append((name, x, digest(x), array.nbytes))
        self.bytes += array.nbytes
        while self.bytes > SAMPLED_BYTES:
            self._drop(self.random.randrange(len(self.kept)))

    def _drop(self, place: int) -> None:
        self.kept[place], self.kept[-1] = self.kept[-1], self.kept[place]
        self.bytes -= self.kept.pop()[3]

    def changed(self) -> str:
        """The name of an output whose array is no longer what it was; "" where none is."""
        return next((name for name, x, before, _ in self.kept if digest(x) != before), "")


@functools.cache
def second_thread() -> queue.SimpleQueue:
    """The calls of a thread that never ends: under libomp 14, a process in which threads that ran OpenMP tasks have
    ended dies in a later task."""
    calls: queue.SimpleQueue = queue.SimpleQueue()

    def serve() -> None:
        while True:
            answer, function = calls.get()
            try:
                answer.set_result(function())
            except BaseException as raised:  # noqa: BLE001  (it is raised again where it belongs)
                answer.set_exception(raised)
            del answer, function  # not kept until the next call

    # Not a pool of concurrent.futures: at its end the interpreter waits for those, and a kernel may hang.
    threading.Thread(target=serve, daemon=True).start()
    return calls


os.register_at_fork(after_in_child=second_thread.cache_clear)  # a forked process has no such thread


def in_second_thread(function: Callable, context: Callable) -> Any:
    """What the function returns or raises in the second thread, inside the context manager that `context` makes."""

    def run() -> Any:
        with context():
            return function()

    answer: Future = Future()
    second_thread().put((answer, functools.partial(contextvars.copy_context().run, run)))
    try:
        return answer.result()
    except KeyboardInterrupt:
        second_thread.cache_clear()  # it may be in this call for ever
        raise


class Kernel:
    """Calls a function for the judge. Raises Broken, whose message is a finding, when an answer breaks the
    contract, and Refused when the function raises."""

    def __init__(
        self,
        page: Mapping[str, Any],
        function: Callable,
        vjp: Callable | None,
        framework: NumPy,
        layout: str = "nd",
        seed: int = 1,
        fixed: Collection[str] = (),
    ):
        self.page, self.function, self.vjp, self.framework = page, function, vjp, framework
        self.ragged = RAGGED.get(layout, ())
        self.signature = Signature(function, page, self.ragged)
        self.vjp_signature = Signature(vjp, page, ("cotangents", *self.ragged)) if vjp else None
        self.outputs = [tensor["name"] for tensor in page["outputs"]]
        self.optional_outputs = [tensor["name"] for tensor in page["outputs"] if tensor["optional"]]
        self.seconds = 0.0  # inside the kernel
        self.calls = 0
        self.kept: collections.deque = collections.deque(maxlen=KEPT)
        self.sample = Sample(seed)
        # A case may spell a value that was fixed as the default that equals it: scale = 1 where d = 1.
        self.may_vary = [
            name for name in self.signature.parameters if not self.signature.takes(name) and name not in fixed
        ]
        self.untaken: dict[str, Any] = {}  # parameters that the function is not told, and the value that they had

    def __call__(
        self,
        reading: str,
        inputs: Mapping[str, tuple[str, np.ndarray]],
        parameters: Mapping[str, Any],
        outputs: list[Mapping[str, Any]],
        second_thread: bool = False,
    ) -> list[np.ndarray]:
        for name in self.may_vary:
            if self.untaken.setdefault(name, parameters.get(name)) != parameters.get(name):
                raise Broken(
                    f"the kernel does not take '{name}', but what was declared lets it vary "
                    f"({self.untaken[name]!r}, {parameters.get(name)!r}): "
                    f"fix it with params={{{name!r}: ...}} or take it as an argument"
                )
        given = {name: self.framework.give(array, dtype) for name, (dtype, array) in inputs.items()}
        before = {} if self.framework.immutable else {name: array.tobytes() for name, (_, array) in inputs.items()}
        if second_thread:
            answer = in_second_thread(
                lambda: self._run(reading, given, parameters, outputs), self.framework.thread_settings()
            )
        else:
            answer = self._run(reading, given, parameters, outputs)
        arrays = [self._checked(x, output, given, inputs) for x, output in zip(answer, outputs)]
        for name, bytes_before in before.items():
            if bytes_of(given[name]) != bytes_before:
                raise Broken(f"input '{name}' was changed by the call; a kernel must leave its inputs as they are")
        for sentence in self.late_writes():
            raise Broken(sentence)
        if not self.framework.immutable:
            self.kept.append([(output["name"], x, bytes_of(x)) for x, output in zip(answer, outputs)])
            for x, array, output in zip(answer, arrays, outputs):
                self.sample.add(output["name"], x, array)
        return [array.view("u2") if array.dtype == NUMPY["bf16"] else array for array in arrays]

    def late_writes(self) -> list[str]:
        """Returns a sentence when an array of an earlier call has changed since, and nothing otherwise."""
        for answer in self.kept:
            for name, x, bytes_before in answer:
                if bytes_of(x) != bytes_before:
                    self.kept.clear()
                    return [self._late_write(name)]
        return []

    def settle(self) -> list[str]:
        """The same of all answers that are still kept, when the last call is over."""
        if sentences := self.late_writes():
            return sentences
        name = self.sample.changed()
        return [self._late_write(name)] if name else []

    @staticmethod
    def _late_write(name: str) -> str:
        return (
            f"the array that an earlier call returned for '{name}' has changed since: the kernel keeps it and writes "
            f"to it again"
        )

    def _run(self, reading, given, parameters, outputs) -> list[Any]:
        """The function's arrays, one per output."""
        names = [output["name"] for output in outputs]
        function = self.function if reading == "value" or self.vjp is None else self.vjp
        signature = self.signature if reading == "value" or self.vjp is None else self.vjp_signature
        accepted = {name: value for name, value in parameters.items() if signature.takes(name)}
        tensors = {name: x for name, x in given.items() if "." not in name}
        for word in self.ragged:
            accepted[word] = {name[len(word) + 1 :]: x for name, x in given.items() if name.startswith(word + ".")}
        start = time.perf_counter()
        try:
            if reading == "value":
                result = function(**tensors, **accepted)
            elif self.vjp is not None:
                cotangents = {
                    name.removeprefix("cotangent."): x for name, x in given.items() if name.startswith("cotangent.")
                }
                result = function(**tensors, **accepted, cotangents=cotangents)
            else:
                result = self.framework.gradient(
                    lambda x: self._listed(function(**x, **accepted), self.outputs),
                    tensors,
                    [name.removeprefix("gradient.") for name in names],
                    [given[f"cotangent.{name}"] for name in self.outputs],
                )
            self._wait(result)
        except Broken:
            raise
        except (Exception, SystemExit) as error:
            frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "/attest/_" not in frame.filename]
            where = f" ({frames[-1].filename}:{frames[-1].lineno})" if frames else ""
            raise Refused(f"the kernel raised {type(error).__name__}: {error}{where}") from error
        finally:
            self.seconds += time.perf_counter() - start
            self.calls += 1
        return self._listed(result, names)

    @staticmethod
    def _wait(result) -> None:
        """Asynchronous libraries still compute."""
        for x in (
            result.values()
            if isinstance(result, Mapping)
            else result
            if isinstance(result, (tuple, list))
            else [result]
        ):
            if hasattr(x, "block_until_ready"):
                x.block_until_ready()

    def _listed(self, result, names: list[str]) -> list[Any]:
        """One array per name, from an array, a tuple or list in that order, or a dictionary."""
        expected = f"expected {len(names)}: {', '.join(names)}"
        if spare := [name for name in self.optional_outputs if name in names]:
            expected += f" (a kernel without {spare[0]} declares conventions={{{spare[0]!r}: False}})"
        if isinstance(result, Mapping):
            short = {name.removeprefix("gradient."): name for name in names}
            found = {short.get(key, key): x for key, x in result.items()}
            if set(found) != set(names):
                raise Broken(f"the kernel returned {', '.join(map(str, result)) or 'nothing'}; {expected}")
            return [found[name] for name in names]
        if isinstance(result, (tuple, list)):
            if len(result) != len(names):
                raise Broken(f"the kernel returned {len(result)} arrays; {expected}")
            return list(result)
        if len(names) != 1:
            raise Broken(f"the kernel returned one {type(result).__name__}; {expected}, as a tuple or dictionary")
        return [result]

    def _checked(self, x: Any, output: Mapping[str, Any], given, inputs) -> np.ndarray:
        """The output as a C-contiguous array of the dtype and shape that are due."""
        name, wanted = output["name"], NUMPY[output["dtype"]]
        array = to_numpy(x)
        if array is None:
            raise Broken(
                f"the kernel returned a {type(x).__name__} for '{name}'; expected an array of shape "
                f"{output['shape']} and dtype {wanted}"
            )
        if array.shape != output["shape"]:
            raise Broken(f"'{name}' has shape {array.shape}, expected {output['shape']}")
        if array.dtype.kind in "iu" and array.dtype != wanted:
            # Exits, buckets and other numbers of things are integers to NumPy.
            converted = array.astype(wanted)
            if wanted.kind == "i" or np.array_equal(converted.astype(np.float64), array.astype(np.float64)):
                array = converted
        if array.dtype != wanted:
            raise Broken(f"'{name}' has dtype {array.dtype}, expected {wanted}")
        if not self.framework.immutable:
            for other, tensor in given.items():
                # A gradient may be the cotangent that was passed in: d(x + y)/dx is the cotangent itself.
                if not other.startswith("cotangent.") and self.framework.shares(x, array, tensor, inputs[other][1]):
                    raise Broken(f"'{name}' shares memory with input '{other}'; return an array of its own")
        return np.ascontiguousarray(array).reshape(array.shape)  # ascontiguousarray makes a scalar one-dimensional
