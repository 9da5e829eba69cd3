# SPDX-License-Identifier: MIT
"""Implementations of other libraries that a plugin's kernels are timed beside.

A peer is a function (memory, case, inputs) -> (run, result): `run` is timed, and `result` makes of what it returns the
outputs by name in layout bhnd."""

import importlib

from .errors import NotTimed


def peer(*cases, name, option=None, only=None):
    """Registers a function as a peer of some cases: timed when the command line has the option, and on devices of the
    kind `only`."""

    def register(prepare):
        for case in cases:
            case.peers[name] = prepare
        prepare.option, prepare.only = option, only
        return prepare

    return register


def peers_of(kind, device, options):
    return {
        name: prepare
        for name, prepare in kind.peers.items()
        if (not prepare.option or getattr(options, prepare.option)) and prepare.only in (None, device)
    }


def imported(module, package):
    """A module; raises NotTimed where its package is not installed."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise NotTimed("absent", f"not installed: {package} ({error})") from None


def tensors(memory, inputs, names, transposed=False):
    """Inputs as tensors of PyTorch; transposed: with tokens before heads."""
    imported("torch", "torch")
    found = (memory.torch(inputs[name]) for name in names)
    return [x.transpose(1, 2).contiguous() if transposed else x for x in found]


def backward(forward, q, k, v, g):
    """The backward pass of forward(q, k, v), which has run."""
    torch = importlib.import_module("torch")
    leaves = [x.detach().clone().requires_grad_() for x in (q, k, v)]
    o = forward(*leaves)
    g = g.to(o.dtype)
    return lambda: torch.autograd.grad(o, leaves, g, retain_graph=True)


def passes(memory, case, inputs, forward, transposed):
    """Either pass of forward(q, k, v), whose tensors have tokens before heads when transposed."""
    turn = (lambda x: x.transpose(1, 2)) if transposed else (lambda x: x)
    if case.reading == "value":
        q, k, v = tensors(memory, inputs, case.leaves, transposed)
        return lambda: forward(q, k, v), lambda o: {"o": turn(o)}
    run = backward(forward, *tensors(memory, inputs, (*case.leaves, "cotangent.o"), transposed))
    return run, lambda found: {f"gradient.{name}": turn(x) for name, x in zip(case.leaves, found)}
