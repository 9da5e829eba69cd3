# SPDX-License-Identifier: MIT
import math

import numpy as np

KERNELS = []


def kernel(kind, mistake, profile="f32", **options):
    def add(function):
        KERNELS.append((function.__name__, EQUATION, function, kind, mistake, profile, options))
        return function

    return add


EQUATION = "rl.decision_transformer"

F32 = np.float32
F64 = np.float64


def d64(x):
    return np.asarray(x, F64)


def out(x):
    return np.asarray(x, F32)


def soft(x, axis=-1):
    x = d64(x)
    w = np.exp(x - x.max(axis=axis, keepdims=True))
    return w / w.sum(axis=axis, keepdims=True)


def _tokens(returns, states, actions, w_return, w_state, w_action, times, start):
    t = states.shape[0]
    e = d64(times[start : start + t])
    x = np.empty((3 * t, w_return.shape[0]))
    x[0::3] = d64(returns)[:, None] * d64(w_return) + e
    x[1::3] = d64(states) @ d64(w_state) + e
    x[2::3] = d64(actions) @ d64(w_action) + e
    return x


def _read(x, rows_, w_q, w_k, w_v, w_head, b_head, see=None, residual=True):
    o = []
    for i in rows_:
        j = np.arange(i + 1) if see is None else see(i)
        a = soft((x[j] @ d64(w_k)) @ (x[i] @ d64(w_q)) / math.sqrt(w_q.shape[1])) @ (x[j] @ d64(w_v))
        y = x[i] + a if residual else a
        o.append(y @ d64(w_head) + (0 if b_head is None else d64(b_head)))
    return out(np.array(o).reshape(len(rows_), w_head.shape[1]))


@kernel(
    "correct",
    "only the queries of states are computed; the head is joined with the value projection, and the three kinds of "
    "tokens form three strips of scores with masks of their own (j <= t, j <= t, j < t); float64",
)
def three_strips(
    returns, states, actions, w_return, w_state, w_action, times, w_q, w_k, w_v, w_head, b_head=None, start=0
):
    x = _tokens(returns, states, actions, w_return, w_state, w_action, times, start)
    t = states.shape[0]
    q = x[1::3] @ (d64(w_q) @ d64(w_k).T) / math.sqrt(w_q.shape[1])
    low = np.tril(np.ones((t, t), bool))
    kinds = [x[a::3] for a in range(3)]
    l = np.concatenate(
        [np.where(m, q @ z.T, -np.inf) for z, m in zip(kinds, (low, low, low & ~np.eye(t, dtype=bool)))], 1
    )
    w = np.exp(l - l.max(1, keepdims=True))
    y = (w / w.sum(1, keepdims=True)) @ (np.concatenate(kinds) @ (d64(w_v) @ d64(w_head)))
    return out(x[1::3] @ d64(w_head) + y + (0 if b_head is None else d64(b_head)))


@kernel("wrong", "the action is read at the return token, 3 t, which does not see the state of the step")
def read_at_return(
    returns, states, actions, w_return, w_state, w_action, times, w_q, w_k, w_v, w_head, b_head=None, start=0
):
    x = _tokens(returns, states, actions, w_return, w_state, w_action, times, start)
    return _read(x, range(0, len(x), 3), w_q, w_k, w_v, w_head, b_head)


@kernel(
    "wrong",
    "a step's tokens see all of their step: the state sees the action that is to be predicted, in the last step alone",
)
def last_step_leaks(
    returns, states, actions, w_return, w_state, w_action, times, w_q, w_k, w_v, w_head, b_head=None, start=0
):
    x = _tokens(returns, states, actions, w_return, w_state, w_action, times, start)
    n = len(x)
    return _read(x, range(1, n, 3), w_q, w_k, w_v, w_head, b_head, see=lambda i: np.arange(n if i == n - 2 else i + 1))


@kernel(
    "wrong",
    "the embedding of actions is that of the step after (row start + t + 1, the last one repeated at the end of "
    "the table)",
)
def action_time_shifted(
    returns, states, actions, w_return, w_state, w_action, times, w_q, w_k, w_v, w_head, b_head=None, start=0
):
    x = _tokens(returns, states, actions, w_return, w_state, w_action, times, start)
    r = np.minimum(start + 1 + np.arange(len(states)), len(times) - 1)
    x[2::3] += d64(times[r]) - d64(times[start : start + len(states)])
    return _read(x, range(1, len(x), 3), w_q, w_k, w_v, w_head, b_head)
