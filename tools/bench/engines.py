#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""engines.py [--rounds N] [--threads N] [--only GLOB] [--peers NAME,...] [--plugin FILE] [--markdown FILE]
[--tries N]: seconds of
the OpenMP engines beside other libraries, on one machine, in one run.

Each peer is a process of its own for each work, so that no allocator or thread pool of another is in it. All are asked
in turn in every round, in another order each time; the table has medians over the rounds, the ratio to the fastest
other library of the same round, and the share of the ceilings: fused multiply-adds in registers, and a copy of 128 MiB,
bytes read and bytes written. Before a call 256 MiB are written, which empties the caches. What differs from NumPy in
float64, in some rows of the first head, by more than 1e-4 (float64: 1e-12) gets no time. A call beside which other
programs took more than a tenth of a processor is made again, --tries times at most; the last line counts those that
were disturbed to the end.

It needs the target attest_bench_ceilings and Python with NumPy; PyTorch, OpenVINO, onnxruntime and JAX are peers where
they are installed. OpenVINO is asked for float32, which it would not take by itself where there is bfloat16."""

import argparse
import contextlib
import fnmatch
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/bench"))

import engine_works  # noqa: E402
from machine import heading  # noqa: E402


class Work:
    """Softmax attention of `heads` heads: one pass, or the gradients too."""

    repeat = 1  # calls in a row that are timed as one

    def __init__(self, name, n, s, causal=False, gradients=False, dtype="f32", heads=8, d=64):
        self.name, self.n, self.s, self.causal, self.gradients = name, n, s, causal, gradients
        self.dtype, self.heads, self.d = dtype, heads, d
        self.by_copy = n == 1  # decoding reads, and computes next to nothing

    def pairs(self):
        return self.n * (self.n + 1) // 2 + self.n * (self.s - self.n) if self.causal else self.n * self.s

    def flops(self):
        """Two products forward, five backward, of 2 d operations per pair."""
        return self.heads * self.pairs() * 2 * self.d * (7 if self.gradients else 2)

    def bytes(self):
        """Keys and values, read once."""
        return 2 * self.heads * self.s * self.d * (8 if self.dtype == "f64" else 4)

    def house(self):
        """Forms of this project's kernels."""
        if self.gradients:
            return [("online_blocked", form) for form in ("materialised", "recompute")]
        if self.n == 1:
            return [("online_blocked",), ("split_k",)]
        return [(form,) for form in ("online_blocked", "max_shift", "split_k", "per_query")]

    def calls(self, forms):
        """Equation, form, inputs, outputs and their shapes, parameters of each call."""
        shape = {
            name: (1, self.heads, tokens, self.d) for name, tokens in {"q": self.n, "k": self.s, "v": self.s}.items()
        }
        parameters = {"scale": self.d**-0.5, "causal": int(self.causal), "block": 64}
        plain = {"softcap": 0.0, "window_left": -1, "window_right": -1, "empty_row": "zero"}
        calls = [("attention.scaled_dot_product", forms[0], list("qkv"), {"o": shape["q"]}, {**parameters, **plain})]
        if self.gradients:
            made = {f"grad_{name}": shape[name] for name in "qkv"}
            backward = "attention.scaled_dot_product_backward"
            calls.append((backward, forms[1], ["q", "k", "v", "grad_o"], made, parameters))
        return calls

    def others(self):
        able = ["PyTorch", "JAX"] + ([] if self.gradients else ["OpenVINO"])
        able += ["onnxruntime"] if not self.gradients and self.dtype == "f32" else []
        return {name: peer for name, peer in OTHERS.items() if name in able}

    def inputs(self, numpy):
        random = numpy.random.default_rng(1)
        kind = numpy.float64 if self.dtype == "f64" else numpy.float32
        shapes = {"q": self.n, "k": self.s, "v": self.s, "grad_o": self.n}
        return {
            name: random.standard_normal((1, self.heads, tokens, self.d)).astype(kind)
            for name, tokens in shapes.items()
        }

    def truth(self, numpy):
        """Of head 0: eight rows of the output, and of grad_q, grad_k and grad_v if they are asked for."""
        x = {name: value[0, 0].astype(numpy.float64) for name, value in self.inputs(numpy).items()}
        rows, scale = self.rows(), self.d**-0.5
        weights = x["q"] @ x["k"].T * scale
        if self.causal:
            weights[~numpy.tri(self.n, self.s, self.s - self.n, dtype=bool)] = -math.inf
        weights = numpy.exp(weights - weights.max(1, keepdims=True))
        weights /= weights.sum(1, keepdims=True)
        found = [(weights @ x["v"])[rows]]
        if self.gradients:
            slope = x["grad_o"] @ x["v"].T
            slope = weights * (slope - (weights * slope).sum(1, keepdims=True))
            found += [(slope @ x["k"] * scale)[rows], (slope.T @ x["q"] * scale)[rows], (weights.T @ x["grad_o"])[rows]]
        return found

    def rows(self):
        return [self.n * i // 8 for i in range(8)] if self.n > 8 else list(range(self.n))


WORKS = [
    Work("softmax, full", 4096, 4096),
    Work("softmax, causal", 4096, 4096, causal=True),
    Work("softmax, full, with gradients", 4096, 4096, gradients=True),
    Work("softmax, causal, with gradients", 4096, 4096, causal=True, gradients=True),
    Work("softmax, one query, 16,384 keys", 1, 16384),
    Work("softmax, full, f64", 4096, 4096, dtype="f64"),
    Work("softmax, causal, f64", 4096, 4096, causal=True, dtype="f64"),
    Work("softmax, full, with gradients, f64", 4096, 4096, gradients=True, dtype="f64"),
    *engine_works.WORKS,
]


# --- peers: each takes a work and its inputs, and returns a function that computes and one that gives the outputs.


def attest(plugin, forms, work, x, numpy):
    """Forms of forward and backward."""
    from attest_bench.case import Tensor
    from attest_bench.host import Host
    from attest_bench.plugin import Call, Plugin

    host, loaded = Host(), Plugin(plugin)

    class Case:
        def __init__(self, given, made, parameters):
            self.given, self.made, self.parameters = given, made, parameters

        def inputs(self):
            kinds = {name: "i64" if x[name].dtype == numpy.int64 else work.dtype for name in self.given}
            return {name: Tensor(x[name].shape, kinds[name]) for name in self.given}

        def outputs(self):
            return {name: Tensor(shape, work.dtype) for name, shape in self.made.items()}

    calls, results = [], []
    for equation, form, given, made, parameters in work.calls(forms):
        case = Case(given, made, parameters)
        kernel = next(
            k for k in loaded.kernels if (k.equation, k.form, k.dtype) == (equation, form, work.dtype) and k.reading
        )
        outputs = {name: host.empty(tensor) for name, tensor in case.outputs().items()}
        inputs = {}
        for name, tensor in case.inputs().items():
            inputs[name] = host.empty(tensor)
            inputs[name][...] = x[name]
        calls.append(Call(kernel, case, host, inputs, outputs))
        results += outputs.values()
    return lambda: [call() for call in calls], lambda: results


def torch_sdpa(work, x, numpy):
    import torch

    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    q, k, v, grad_o = (torch.from_numpy(x[name]).requires_grad_(work.gradients) for name in ("q", "k", "v", "grad_o"))
    kept = []

    def run():
        for leaf in (q, k, v):
            leaf.grad = None
        with contextlib.nullcontext() if work.gradients else torch.no_grad():
            o = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=work.causal)
        if work.gradients:
            o.backward(grad_o)
        kept[:] = [o.detach()] + ([leaf.grad for leaf in (q, k, v)] if work.gradients else [])

    return run, lambda: [value.numpy() for value in kept]


def openvino_sdpa(work, x, numpy):
    import openvino
    from openvino import opset13 as ops

    nodes = [ops.parameter(x[name].shape, x[name].dtype, name=name) for name in "qkv"]
    attention = ops.scaled_dot_product_attention(*nodes, causal=work.causal)
    model = openvino.Model([attention], nodes)
    settings = {
        "INFERENCE_PRECISION_HINT": "f32",
        "INFERENCE_NUM_THREADS": int(os.environ["OMP_NUM_THREADS"]),
        "NUM_STREAMS": 1,
    }
    request = openvino.Core().compile_model(model, "CPU", settings).create_infer_request()
    for index, name in enumerate("qkv"):
        request.set_input_tensor(index, openvino.Tensor(x[name], shared_memory=True))
    return request.infer, lambda: [request.get_output_tensor().data]


def onnxruntime_mha(work, x, numpy):
    """The operator MultiHeadAttention, whose tokens lie in front of their heads."""
    import onnxruntime
    from onnx import TensorProto, helper

    flat = {n: numpy.ascontiguousarray(x[n].transpose(0, 2, 1, 3)).reshape(1, x[n].shape[2], -1) for n in "qkv"}
    described = [helper.make_tensor_value_info(name, TensorProto.FLOAT, flat[name].shape) for name in "qkv"]
    result = helper.make_tensor_value_info("o", TensorProto.FLOAT, flat["q"].shape)
    node = helper.make_node(
        "MultiHeadAttention",
        ["q", "k", "v"],
        ["o"],
        domain="com.microsoft",
        num_heads=work.heads,
        unidirectional=int(work.causal),
    )
    graph = helper.make_graph([node], "attention", described, [result])
    sets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=sets, ir_version=9)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = int(os.environ["OMP_NUM_THREADS"])
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    kept = []

    def run():
        kept[:] = session.run(None, flat)

    return run, lambda: [kept[0].reshape(1, work.n, work.heads, work.d).transpose(0, 2, 1, 3)]


def jax_attention(work, x, numpy):
    import jax

    jax.config.update("jax_enable_x64", True)
    q, k, v, grad_o = (jax.numpy.asarray(x[name].transpose(0, 2, 1, 3)) for name in ("q", "k", "v", "grad_o"))

    def forward(q, k, v):
        return jax.nn.dot_product_attention(q, k, v, is_causal=work.causal)

    def with_gradients(q, k, v, grad_o):
        o, back = jax.vjp(forward, q, k, v)
        return o, *back(grad_o)

    compiled = jax.jit(with_gradients if work.gradients else lambda q, k, v, grad_o: (forward(q, k, v),))
    kept = []

    def run():
        kept[:] = jax.block_until_ready(compiled(q, k, v, grad_o))

    return run, lambda: [numpy.asarray(value).transpose(0, 2, 1, 3) for value in kept]


OTHERS = {"PyTorch": torch_sdpa, "OpenVINO": openvino_sdpa, "onnxruntime": onnxruntime_mha, "JAX": jax_attention}


def peers_of(work, wanted):
    names = [f"attest {' + '.join(forms)}" for forms in work.house()] + list(work.others())
    return [name for name in names if not wanted or any(name.startswith(start) for start in wanted)]


# --- a peer's process


def serve(name, work, plugin):
    """One line per line of standard input: seconds of one call, or what went wrong."""
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is no answer
    try:
        import numpy

        x = work.inputs(numpy)
        if name.startswith("attest "):
            run, outputs = attest(plugin, name.removeprefix("attest ").split(" + "), work, x, numpy)
        else:
            run, outputs = work.others()[name](work, x, numpy)
        run()
        bound = 1e-12 if work.dtype == "f64" else 1e-4
        for got, want in zip(outputs(), work.truth(numpy), strict=True):
            head = numpy.asarray(got)[0, 0]
            error = abs((head if head.shape == want.shape else head[work.rows()]) - want).max()
            if not error <= bound * max(1, abs(want).max()):
                raise ValueError(f"wrong by {error:.2g}")
        dirt = numpy.zeros(1 << 25)
    except Exception as error:  # whatever a library throws, the other peers go on
        print(json.dumps({"failed": f"{type(error).__name__}: {error}"[:200]}), file=answer, flush=True)
        return
    print(json.dumps({"ready": True}), file=answer, flush=True)
    for _ in sys.stdin:
        dirt += 1
        start = time.perf_counter()
        for _ in range(work.repeat):
            run()
        print(json.dumps({"seconds": (time.perf_counter() - start) / work.repeat}), file=answer, flush=True)


class Asked:
    """A process that answers each line with a line."""

    def __init__(self, command, threads):
        env = {**os.environ, "OMP_NUM_THREADS": str(threads), "OMP_WAIT_POLICY": "passive"}
        if sys.platform == "linux" and threads < (os.cpu_count() or 1):
            command = ["taskset", "-c", f"0-{threads - 1}", *command]  # for the libraries that take what they find
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=env
        )

    def read(self):
        return json.loads(self.process.stdout.readline() or '{"failed": "the process ended"}')

    def ask(self, line):
        try:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            return {"failed": "the process ended"}
        return self.read()

    def busy(self):
        """Seconds of the processors that others have taken, on Linux; a constant elsewhere."""
        ticks = os.sysconf("SC_CLK_TCK")
        with contextlib.suppress(OSError, ValueError):
            # user, nice, system, idle, waiting, and so on
            all_of_it = [int(field) for field in pathlib.Path("/proc/stat").read_text().split("\n")[0].split()[1:9]]
            mine = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
            return (sum(all_of_it) - sum(all_of_it[3:5]) - int(mine[11]) - int(mine[12])) / ticks
        return 0.0

    def undisturbed(self, line, tries):
        """The answer, and whether others disturbed the last call that was tried."""
        for _ in range(max(tries, 1)):
            start, before = time.perf_counter(), self.busy()
            answer = self.ask(line)
            others = self.busy() - before
            disturbed = others > 0.1 * (time.perf_counter() - start) + 0.03  # three ticks are rounding
            if not disturbed:
                break
            time.sleep(0.5)
        return answer, disturbed

    def end(self):
        self.process.stdin.close()
        self.process.wait()


# --- the table


def measure(work, options, ceilings):
    """{peer: seconds by round}, {peer: why it has none}, the ceiling by round."""
    running, absent = {}, {}
    for name in peers_of(work, options.peers):
        me = [sys.executable, __file__, "--serve", name, "--only", work.name, "--plugin", str(options.plugin)]
        asked = Asked(me, options.threads)
        first = asked.read()
        if "failed" in first:
            absent[name] = first["failed"]
            asked.end()
        else:
            running[name] = asked
    seconds, tops = {name: [] for name in running}, []
    for turn in range(options.rounds):
        top, disturbed = ceilings.undisturbed("copy" if work.by_copy else work.dtype, options.tries)
        tops.append(top)
        options.disturbed.append(disturbed)
        names = list(running)
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            answer, disturbed = running[name].undisturbed("go", options.tries)
            seconds[name].append(answer.get("seconds", math.nan))
            options.disturbed.append(disturbed)
    for asked in running.values():
        asked.end()
    return seconds, absent, tops


def spread(values):
    ordered = sorted(values)
    return (ordered[3 * len(ordered) // 4] - ordered[len(ordered) // 4]) / statistics.median(ordered)


def table(work, seconds, absent, tops):
    done, unit = (work.bytes(), "GB/s") if work.by_copy else (work.flops(), "GFLOP/s")
    top = statistics.median(tops)
    ceiling = "copy" if work.by_copy else f"multiply-adds in {work.dtype}"
    others = [name for name in seconds if name in work.others()]
    lines = [
        f"### {work.name}",
        "",
        f"{work.heads} heads, n = {work.n}, s = {work.s}, d = m = {work.d}, {work.dtype}; {ceiling}: "
        f"{top * 1e-9:.1f} {unit}",
        "",
        f"| | ms | middle half | {unit} | of the ceiling | to the fastest other |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name, values in sorted(seconds.items(), key=lambda item: statistics.median(item[1])):
        rivals = [other for other in others if other != name]
        ratios = [values[r] / min(seconds[other][r] for other in rivals) for r in range(len(values))] if rivals else []
        ratio = f"{statistics.median(ratios):.2f}" if ratios else "-"
        shares = [done / values[r] / tops[r] for r in range(len(values))]
        median = statistics.median(values)
        milliseconds = f"{median * 1e3:.{2 if median > 1e-3 else 4}f}"
        lines.append(
            f"| {name} | {milliseconds} | {spread(values):.0%} | {done / median * 1e-9:.1f} "
            f"| {statistics.median(shares):.0%} | {ratio} |"
        )
    lines += [f"| {name} | {why.replace('|', '/')} | | | | |" for name, why in absent.items()]
    return "\n".join(lines) + "\n"


def versions():
    from importlib import metadata

    found = []
    for name in ("numpy", "torch", "openvino", "onnxruntime", "jax"):
        with contextlib.suppress(metadata.PackageNotFoundError):
            found.append(f"{name} {metadata.version(name)}")
    return ", ".join(found)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--only", default="*", help="glob over the names of works")
    parser.add_argument("--peers", type=lambda text: text.split(","), help="names, or how they begin")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/ci")
    parser.add_argument("--plugin", type=pathlib.Path)
    parser.add_argument("--markdown", type=pathlib.Path, help="write the tables to this file too")
    parser.add_argument("--tries", type=int, default=20, help="calls until others leave the processors alone")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.disturbed = []
    options.plugin = options.plugin or options.build / "plugins/libattest_openmp.so"
    works = [work for work in WORKS if fnmatch.fnmatchcase(work.name, options.only)]
    if options.serve:
        return serve(options.serve, works[0], options.plugin)
    ceilings = Asked([str(options.build / "tools/bench/attest_bench_ceilings")], options.threads)
    load = os.getloadavg()[0]
    parts = []
    for work in works:
        parts.append(table(work, *measure(work, options, ceilings)))
        print(parts[-1], flush=True)
    ceilings.end()
    head = (
        f"{heading()}; {options.threads} threads, medians of {options.rounds} rounds; load when it began {load:.2f}; "
        f"{sum(options.disturbed)} of {len(options.disturbed)} calls disturbed\n\n{versions()}\n"
    )
    print(head)
    if options.markdown:
        options.markdown.write_text(head + "\n" + "\n".join(parts))


if __name__ == "__main__":
    main()
