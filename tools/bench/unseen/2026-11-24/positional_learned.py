# SPDX-License-Identifier: MIT
import math

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "positional.learned"

F32 = np.float32
F64 = np.float64


def _plain(x, table, start=0):
    return x + table[start : start + len(x)]


# category 3
@kernel(
    "wrong", "tiles of 16 tokens: start is added in the first tile only, later tiles read row i (start > 0 and n > 16)"
)
def start_in_first_tile(x, table, start=0):
    i = np.arange(len(x))
    return x + table[np.where(i < 16, i + start, i)]


# category 7
@kernel(
    "wrong", "rows are limited to n_max - 2: the table's last row is never read, its last token gets the row before"
)
def last_row_out_of_reach(x, table, start=0):
    return x + table[np.minimum(start + np.arange(len(x)), max(len(table) - 2, 0))]


# category 5
@kernel(
    "wrong",
    "the tokens are multiplied by sqrt(d) before the positions join (the embedding's factor of Vaswani et"
    " al., section 3.4)",
)
def tokens_times_root(x, table, start=0):
    return x * F32(math.sqrt(x.shape[1])) + table[start : start + len(x)]


# category 4
@kernel(
    "wrong",
    "one token with a start (a decoding step) reads row start - 1, as if start counted the tokens with this one",
)
def step_reads_row_before(x, table, start=0):
    if len(x) == 1 and start > 0:
        return x + table[start - 1 : start]
    return _plain(x, table, start)


@kernel(
    "correct",
    "as a product with a matrix of 0 and 1 that picks the rows, the tokens added as a product with the "
    "identity, in double",
    profile="bf16",
)
def rows_by_product(x, table, start=0):
    n, d = x.shape
    pick = np.zeros((n, len(table)))
    pick[np.arange(n), int(start) + np.arange(n)] = 1
    both = np.concatenate([np.eye(n), pick], 1) @ np.concatenate([x, table]).astype(F64)
    return both.astype(F32).astype(x.dtype)
