# SPDX-License-Identifier: MIT
"""The cases that can be timed, each with the peers that answer it. A new equation is a new file and a line here."""

from ..case import SIZES
from ..errors import NotTimed
from ..interface import CPU
from ..peers import peer
from .attention import ATTENTION
from .linear import Causal, CausalGradient, CausalStep
from .rotary import Rotary


CASES = (Causal, CausalGradient, CausalStep, *ATTENTION, Rotary)
EQUATIONS = sorted({case.equation for case in CASES})


@peer(*CASES, name="NumPy", only=CPU)
def numpy_form(memory, case, inputs):
    """The form that the others are checked against, in the case's precision."""
    if case.dtype == "bf16":
        raise NotTimed("outside", "NumPy has no bfloat16")
    if case.batch * case.heads * case.tokens**2 * SIZES[case.dtype] > 1 << 30:
        raise NotTimed("outside", "its weights are more than 1 GiB")
    return lambda: case.truth(memory.xp, inputs, case.tokens), lambda found: found
