# SPDX-License-Identifier: MIT
"""Helpers of the adapters of libraries on PyTorch."""

import torch


class Given(torch.nn.Module):
    """Stands for a projection: gives the value, whatever it is asked for."""

    def __init__(self, value: torch.Tensor):
        super().__init__()
        self.value = value

    def forward(self, _):
        return self.value


def for_every_head(heads: int, *shared: torch.Tensor, axis: int = 1) -> list[torch.Tensor]:
    """Tensors that heads of a group share, repeated for each head along the axis of heads."""
    return [x.repeat_interleave(heads // x.shape[axis], axis) for x in shared]
