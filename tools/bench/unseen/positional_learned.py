# SPDX-License-Identifier: MIT
import numpy as np

KERNELS = []
CATEGORIES = {}


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


def f32(x):
    return np.asarray(x).astype(np.float32)


def bf16(x):
    """Nearest bfloat16, kept in float32."""
    x = np.array(x, dtype=np.float32)
    u = x.view(np.uint32)
    r = ((u + np.uint32(0x7FFF) + ((u >> np.uint32(16)) & np.uint32(1))) & np.uint32(0xFFFF0000)).view(np.float32)
    return np.where(np.isfinite(x), r, x)


def tf32(x):
    """Nearest number with a mantissa of 10 bits, kept in float32."""
    x = np.array(x, dtype=np.float32)
    u = x.view(np.uint32)
    r = ((u + np.uint32(0x0FFF) + ((u >> np.uint32(13)) & np.uint32(1))) & np.uint32(0xFFFFE000)).view(np.float32)
    return np.where(np.isfinite(x), r, x)


def f16(x):
    """Nearest float16, kept in float32."""
    return np.asarray(x, dtype=np.float32).astype(np.float16).astype(np.float32)


EQUATION = "positional.learned"


@kernel("correct", "the gather is a product with one-hot rows, of a slice of the table read backwards and turned round")
def one_hot_product(x, table, start=0):
    n = len(x)
    part = table[int(start) : int(start) + n][::-1]
    hot = np.zeros((n, n), np.float32)
    hot[np.arange(n), n - 1 - np.arange(n)] = 1
    return x + hot @ part


@kernel(
    "wrong",
    "start is ignored for a single token (n == 1, the decoding path), which gets row 0; only for n == 1 with start > 0",
)
def start_lost_for_one_token(x, table, start=0):
    at = 0 if len(x) == 1 else int(start)
    return x + table[at : at + len(x)]


@kernel("wrong", "the table is held in bfloat16 in a float32 kernel")
def table_bf16(x, table, start=0):
    return x + bf16(table)[int(start) : int(start) + len(x)]


@kernel(
    "wrong",
    "rows are added by vectors of 4 floats and the d % 4 last columns pass without their position; only for d % 4 != 0",
)
def vector_tail_lost(x, table, start=0):
    y = x.copy()
    full = x.shape[1] // 4 * 4
    y[:, :full] += table[int(start) : int(start) + len(x), :full]
    return y


@kernel(
    "wrong",
    "the row is start + i + 2, as OPT's tables with their two rows of padding have it, limited to the last row",
    profile="f16",
)
def offset_of_two(x, table, start=0):
    kind = x.dtype
    x, table = map(f32, (x, table))
    return (x + table[np.minimum(np.arange(len(x)) + int(start) + 2, len(table) - 1)]).astype(kind)


CATEGORIES.update(start_lost_for_one_token=4, table_bf16=2, vector_tail_lost=3, offset_of_two=1)
