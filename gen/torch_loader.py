"""Loads mini-batches for PyTorch through a gather engine: ``from ingather import torch_loader``.

On a card, ``open_card`` of the host package that ``ingather generate gather-engine --set
outputs=host`` writes takes the place of ``simulated_engine``; its module ``torch_loader`` has the
other names. UserError without PyTorch.
"""

from contextlib import AbstractContextManager
from typing import Any

from gen.designs.catalogue import find_design
from gen.packages import require

require("torch_loader", "torch")

from sim.gather.host.gather_engine import Engine  # noqa: E402
from sim.gather.host.torch_loader import GatherLoader, RowDataset, UnifiedTensor  # noqa: E402
from sim.gather.simulated_engine import simulated_engine as simulated  # noqa: E402

__all__ = ["GatherLoader", "RowDataset", "UnifiedTensor", "simulated_engine"]


def simulated_engine(
    preset: str = "tiny", *, memory_bytes: int = 1 << 20, **settings: Any
) -> AbstractContextManager[Engine]:
    """Return a context with the driver of a simulated engine, whose rows go to host memory.

    ``memory_bytes`` is how much memory of its host the card sees. UserError for a preset or a
    setting of ``gather-engine`` that there is not.
    """
    params = find_design("gather-engine").params_of(preset, **{"outputs": "host", **settings})
    return simulated(params, memory_bytes)
