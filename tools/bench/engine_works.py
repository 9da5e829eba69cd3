# SPDX-License-Identifier: MIT
"""Works of engines.py for the recur engine and the engine of rows: inputs, the truth, this project's calls, the calls
of other libraries."""

import math
import os


class Recurring:
    """Several heads with d channels of keys and values. What is common to the works below."""

    repeat, causal, gradients, by_copy = 1, True, False, False

    def __init__(self, name, n, dtype="f32", heads=8, d=64):
        self.name, self.n, self.s, self.dtype, self.heads, self.d = name, n, n, dtype, heads, d

    def kind(self, numpy):
        return numpy.float64 if self.dtype == "f64" else numpy.float32

    def draw(self, numpy, shapes, positive=()):
        """Between -1 and 1; what is positive between 0 and 1, so that denominators are not near 0."""
        random = numpy.random.default_rng(1)
        x = {name: random.uniform(-1, 1, (1, self.heads, *shape)) for name, shape in shapes.items()}
        return {name: (abs(v) if name in positive else v).astype(self.kind(numpy)) for name, v in x.items()}

    def rows(self):
        return [self.n * i // 8 for i in range(8)]

    def bytes(self):
        return 0


class Linear(Recurring):
    """Causal linear attention, with its gradients too."""

    def __init__(self, name, n, gradients=False, **rest):
        super().__init__(name, n, **rest)
        self.gradients = gradients

    def flops(self):
        """As attest_bench: 4 d^2 + 4 d per token of a recurrence; with gradients 10 d^2 more."""
        return self.heads * self.n * (4 * self.d**2 + 4 * self.d + (10 * self.d**2 if self.gradients else 0))

    def inputs(self, numpy):
        shape = (self.n, self.d)
        return self.draw(
            numpy, {"phi_q": shape, "phi_k": shape, "v": shape, "grad_o": shape}, positive=("phi_q", "phi_k")
        )

    def truth(self, numpy):
        """A token at a time would take long: rows of the output from prefix sums over chunks, gradients by the same."""
        x = {name: value[0, 0].astype(numpy.float64) for name, value in self.inputs(numpy).items()}
        q, k, v, g = x["phi_q"], x["phi_k"], x["v"], x["grad_o"]
        wide = numpy.concatenate([v, numpy.ones((self.n, 1))], 1)
        forward = causal_sum(numpy, q, k, wide)
        o = forward[:, :-1] / forward[:, -1:]
        found = [o[self.rows()]]
        if self.gradients:
            share = g / forward[:, -1:]
            share = numpy.concatenate([share, -(share * o).sum(1, keepdims=True)], 1)
            found.append(causal_sum(numpy, share, wide, k)[self.rows()])
            found.append(causal_sum(numpy, wide[::-1], share[::-1], q[::-1])[::-1][self.rows()])
            found.append(causal_sum(numpy, k[::-1], q[::-1], share[::-1, :-1])[::-1][self.rows()])
        return found

    def house(self):
        if self.gradients:
            return [("chunked", form) for form in ("closed", "augmented")]
        return [(form,) for form in ("chunked", "two_level")]

    def calls(self, forms):
        names = ["phi_q", "phi_k", "v"]
        shape = (1, self.heads, self.n, self.d)
        parameters = {"chunk": 64, "eps": 0.0, "zero_denominator": "zero", "features": "given"}
        calls = [("linear.causal", forms[0], names, {"o": shape}, parameters)]
        if self.gradients:
            made = {f"grad_{name}": shape for name in names}
            calls.append(("linear.causal_backward", forms[1], [*names, "grad_o"], made, {"eps": 0.0}))
        return calls

    def others(self):
        return {"PyTorch": torch_chunked, "JAX": jax_chunked}


def causal_sum(numpy, a, b, c):
    """sum_{j <= i} (a_i . b_j) c_j for all i."""
    chunk, state, found = 64, numpy.zeros((a.shape[1], c.shape[1])), []
    for first in range(0, len(a), chunk):
        rows = slice(first, first + chunk)
        found.append(a[rows] @ state + numpy.tril(a[rows] @ b[rows].T) @ c[rows])
        state = state + b[rows].T @ c[rows]
    return numpy.concatenate(found)


def torch_chunked(work, x, numpy):
    """Masked products in chunks of 64, all chunks at once: as attest_bench writes it."""
    import torch
    from attest_bench.equations.linear import chunked

    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    leaves = [torch.from_numpy(x[name]).requires_grad_(work.gradients) for name in ("phi_q", "phi_k", "v")]
    grad_o, kept = torch.from_numpy(x["grad_o"]), []

    def run():
        for leaf in leaves:
            leaf.grad = None
        with torch.set_grad_enabled(work.gradients):
            o = chunked(*leaves)
        if work.gradients:
            o.backward(grad_o)
        kept[:] = [o.detach()] + ([leaf.grad for leaf in leaves] if work.gradients else [])

    return run, lambda: [value.numpy() for value in kept]


def jax_chunked(work, x, numpy):
    """A scan over chunks of 64, compiled."""
    import jax

    jax.config.update("jax_enable_x64", True)
    jnp, chunk = jax.numpy, 64

    def forward(q, k, v):
        parts = [a.reshape(work.heads, -1, chunk, work.d).transpose(1, 0, 2, 3) for a in (q[0], k[0], v[0])]

        def body(carry, part):
            S, z = carry
            q, k, v = part
            pairs = jnp.tril(q @ k.transpose(0, 2, 1))
            o = (pairs @ v + q @ S) / (pairs.sum(-1) + (q * z[:, None]).sum(-1))[..., None]
            return (S + k.transpose(0, 2, 1) @ v, z + k.sum(1)), o

        start = jnp.zeros((work.heads, work.d, work.d), q.dtype), jnp.zeros((work.heads, work.d), q.dtype)
        return jax.lax.scan(body, start, tuple(parts))[1].transpose(1, 0, 2, 3).reshape(q.shape)

    def with_gradients(q, k, v, grad_o):
        o, back = jax.vjp(forward, q, k, v)
        return o, *back(grad_o)

    compiled = jax.jit(with_gradients if work.gradients else lambda q, k, v, grad_o: (forward(q, k, v),))
    given, kept = [jnp.asarray(x[name]) for name in ("phi_q", "phi_k", "v", "grad_o")], []

    def run():
        kept[:] = jax.block_until_ready(compiled(*given))

    return run, lambda: [numpy.asarray(value) for value in kept]


class Step(Recurring):
    """A decoding step of causal linear attention, many times in a row: its state stays in the caches."""

    repeat = 1000

    def __init__(self, name, **rest):
        super().__init__(name, 1, **rest)

    def flops(self):
        return self.heads * (4 * self.d**2 + 4 * self.d)

    def inputs(self, numpy):
        row = (self.d,)
        shapes = {"phi_q": row, "phi_k": row, "v": row, "S": (self.d, self.d), "Z": row}
        return self.draw(numpy, shapes, positive=("phi_q", "phi_k", "Z"))

    def rows(self):
        return slice(None)

    def truth(self, numpy):
        x = {name: value[0, 0].astype(numpy.float64) for name, value in self.inputs(numpy).items()}
        S, Z = x["S"] + numpy.outer(x["phi_k"], x["v"]), x["Z"] + x["phi_k"]
        return [x["phi_q"] @ S / (x["phi_q"] @ Z), S, Z]

    def house(self):
        return [("update_then_read",), ("read_then_correct",)]

    def calls(self, forms):
        row, state = (1, self.heads, self.d), (1, self.heads, self.d, self.d)
        parameters = {"eps": 0.0, "zero_denominator": "zero", "features": "given"}
        given = ["phi_q", "phi_k", "v", "S", "Z"]
        return [("linear.causal_step", forms[0], given, {"o": row, "S": state, "Z": row}, parameters)]

    def others(self):
        return {"PyTorch": torch_step, "JAX": jax_step}


def torch_step(work, x, numpy):
    import torch
    from attest_bench.equations.linear import step

    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    given, kept = [torch.from_numpy(value) for value in x.values()], []

    def run():
        with torch.no_grad():
            kept[:] = step(*given)

    return run, lambda: [value.numpy() for value in kept]


def jax_step(work, x, numpy):
    import jax

    jax.config.update("jax_enable_x64", True)
    jnp = jax.numpy

    def one(q, k, v, S, Z):
        S, Z = S + k[..., None] * v[..., None, :], Z + k
        return (q[..., None, :] @ S)[..., 0, :] / (q * Z).sum(-1, keepdims=True), S, Z

    compiled, given, kept = jax.jit(one), [jnp.asarray(value) for value in x.values()], []

    def run():
        kept[:] = jax.block_until_ready(compiled(*given))

    return run, lambda: [numpy.asarray(value) for value in kept]


class Segment(Recurring):
    """One segment of Infini-attention: causal softmax within it, the memory's answer, the gate, the linear update."""

    def flops(self):
        """Two products over the pairs that are seen; the memory is read and takes the segment."""
        return self.heads * (self.n * (self.n + 1) // 2 * 4 * self.d + self.n * 4 * self.d**2)

    def inputs(self, numpy):
        shape = (self.n, self.d)
        shapes = {"q": shape, "k": shape, "v": shape, "beta": (), "memory": (self.d, self.d), "z": (self.d,)}
        return self.draw(numpy, shapes, positive=("z",))

    def truth(self, numpy):
        x = {name: value[0, 0].astype(numpy.float64) for name, value in self.inputs(numpy).items()}
        phi_q, phi_k = (numpy.where(x[name] > 0, x[name] + 1, numpy.exp(x[name])) for name in "qk")
        logits = x["q"] @ x["k"].T / math.sqrt(self.d)
        logits[~numpy.tri(self.n, dtype=bool)] = -math.inf
        weights = numpy.exp(logits - logits.max(1, keepdims=True))
        local = weights / weights.sum(1, keepdims=True) @ x["v"]
        far = phi_q @ x["memory"] / (phi_q @ x["z"])[:, None]
        gate = 1 / (1 + math.exp(-x["beta"]))
        return [(gate * far + (1 - gate) * local)[self.rows()], x["memory"] + phi_k.T @ x["v"], x["z"] + phi_k.sum(0)]

    def house(self):
        return [("loop",)]

    def calls(self, forms):
        o, state, z = (1, self.heads, self.n, self.d), (1, self.heads, self.d, self.d), (1, self.heads, self.d)
        parameters = {"segment": self.n, "update": "linear", "scale": self.d**-0.5, "position": "none", "offset": 0}
        parameters |= {"feature_map": "elu_plus_one", "zero_denominator": "zero"}
        given = ["q", "k", "v", "beta", "memory", "z"]
        return [("infini.segment_attention", forms[0], given, {"o": o, "memory": state, "z": z}, parameters)]

    def others(self):
        return {"PyTorch": torch_segment}


def torch_segment(work, x, numpy):
    import torch

    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    q, k, v, beta, memory, z = (torch.from_numpy(numpy.asarray(value)) for value in x.values())
    kept = []

    def run():
        with torch.no_grad():
            phi_q, phi_k = (torch.nn.functional.elu(a) + 1 for a in (q, k))
            far = phi_q @ memory / (phi_q @ z[..., None])
            local = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            gate = torch.sigmoid(beta)[..., None, None]
            kept[:] = [gate * far + (1 - gate) * local, memory + phi_k.transpose(2, 3) @ v, z + phi_k.sum(2)]

    return run, lambda: [value.numpy() for value in kept]


class Rope(Recurring):
    """Rotary positions. Other libraries get cosines and sines that were made beforehand."""

    by_copy = True

    def bytes(self):
        return 2 * self.heads * self.n * self.d * (8 if self.dtype == "f64" else 4)

    def flops(self):
        return self.heads * self.n * 3 * self.d

    def inputs(self, numpy):
        x = self.draw(numpy, {"x": (self.n, self.d)})
        return {**x, "positions": numpy.arange(self.n, dtype=numpy.int64).reshape(1, 1, self.n)}

    def truth(self, numpy):
        x, half = self.inputs(numpy)["x"][0, 0].astype(numpy.float64)[self.rows()], self.d // 2
        angles = numpy.outer(self.rows(), 10000.0 ** (-numpy.arange(half) / half))
        a, b, c, s = x[:, :half], x[:, half:], numpy.cos(angles), numpy.sin(angles)
        return [numpy.concatenate([a * c - b * s, a * s + b * c], 1)]

    def house(self):
        return [("pairs",)]

    def calls(self, forms):
        from attest_bench.equations.rotary import Rotary

        shape = (1, self.heads, self.n, self.d)
        return [("positional.rotary", forms[0], ["x", "positions"], {"y": shape}, Rotary.parameters)]

    def others(self):
        return {"PyTorch": torch_rope, "JAX": jax_rope}


def tables(work, numpy):
    angles = numpy.outer(numpy.arange(work.n), 10000.0 ** (-numpy.arange(work.d // 2) / (work.d // 2)))
    angles = numpy.concatenate([angles, angles], 1)
    return numpy.cos(angles).astype(work.kind(numpy)), numpy.sin(angles).astype(work.kind(numpy))


def torch_rope(work, x, numpy):
    import torch
    from attest_bench.equations.rotary import rotated

    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    given, kept = [torch.from_numpy(a) for a in (x["x"], *tables(work, numpy))], []

    def run():
        with torch.no_grad():
            kept[:] = [rotated(*given)]

    return run, lambda: [value.numpy() for value in kept]


def jax_rope(work, x, numpy):
    import jax

    jax.config.update("jax_enable_x64", True)
    jnp, half = jax.numpy, work.d // 2

    def rotated(x, cosine, sine):
        return x * cosine + jnp.concatenate([-x[..., half:], x[..., :half]], -1) * sine

    compiled, given, kept = jax.jit(rotated), [jnp.asarray(a) for a in (x["x"], *tables(work, numpy))], []

    def run():
        kept[:] = [jax.block_until_ready(compiled(*given))]

    return run, lambda: [numpy.asarray(value) for value in kept]


WORKS = [
    Linear("linear, causal, n = 4,096", 4096),
    Linear("linear, causal, n = 65,536", 65536),
    Linear("linear, causal, n = 4,096, with gradients", 4096, gradients=True),
    Linear("linear, causal, n = 65,536, with gradients", 65536, gradients=True),
    Linear("linear, causal, n = 4,096, f64", 4096, dtype="f64"),
    Step("linear, one step"),
    Segment("infini, one segment, n = 2,048", 2048),
    Rope("rotary, n = 16,384", 16384),
]
