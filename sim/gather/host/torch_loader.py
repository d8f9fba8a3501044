"""Gathers rows of PyTorch's tensors through an engine: a unified tensor, a data set, a loader."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch  # pyright: ignore[reportMissingImports]
from numpy.typing import NDArray
from torch.utils.data import Dataset  # pyright: ignore[reportMissingImports]

from sim.gather.host.gather_engine import Engine
from sim.gather.host.pipeline import Pipeline, itself
from sim.gather.host.unified_table import UnifiedTable


class UnifiedTensor:
    """Is the paper's unified tensor (3.1): ``features[idx]`` gathers rows by an engine.

    ``features`` is a tensor [row, ...] of any type that PyTorch has, float16 and bfloat16 among
    them. It is copied once, row-major, into the memory that the card sees, whatever its strides
    were; the rows of ``features[idx]`` are a tensor of their own, on the CPU. No gradients come to
    the features. ``options`` are those of :class:`UnifiedTable`, whose errors it has, too: an idx
    that is not in the table is an IndexError, and so are masks.
    """

    def __init__(self, engine: Engine, features: Any, **options: Any) -> None:
        content = features.detach().cpu().contiguous()
        self.shape, self.dtype = content.shape, content.dtype
        # Axes of size 1 may have any stride, with which a tensor cannot be viewed as bytes.
        flat = content.as_strided((content.numel(),), (1,)).view(torch.uint8).numpy()
        self.table = UnifiedTable(engine, flat.reshape(len(content), -1), **options)

    def __len__(self) -> int:
        return len(self.table)

    def __getitem__(self, idx: Any) -> Any:
        """Return the tensor ``features[idx]``, for an integer, a slice or a list of integers."""
        rows = self.table[listed(idx)]
        return self.tensor(rows) if rows.ndim > 1 else self.tensor(rows[None])[0]

    def tensor(self, rows: NDArray[Any]) -> Any:
        """Return rows of the table as a tensor that has their memory."""
        return torch.from_numpy(rows).view(self.dtype).reshape(len(rows), *self.shape[1:])


class RowDataset(Dataset):
    """Is a data set of rows and what belongs to them, for PyTorch's own ``DataLoader``.

    A sample is a tuple of row i of ``features`` and item i of each of ``others``, such as labels.
    The rows of a mini-batch are one gather. One process drives an engine: ``num_workers`` is 0.
    """

    def __init__(self, features: UnifiedTensor, *others: Any) -> None:
        if any(len(other) != len(features) for other in others):
            raise ValueError(f"there are {len(features)} rows, and not as many of the others")
        self.features, self.others = features, others

    def __len__(self) -> int:
        return len(self.features)

    def __getitem__(self, idx: int) -> tuple[Any, ...]:
        return self.__getitems__([idx])[0]

    def __getitems__(self, idxs: Sequence[int]) -> list[tuple[Any, ...]]:
        columns = ([other[idx] for idx in idxs] for other in self.others)
        return list(zip(self.features[idxs], *columns, strict=True))


class GatherLoader:
    """Yields mini-batches with rows that were gathered while the one before was in use (3.3).

    ``sampler`` is any iterable of mini-batches, such as a ``DataLoader`` that samples a graph, and
    ``idxs_of`` returns the idxs of one, a tensor or a list of integers; by default a mini-batch is
    its idxs. Each item is a tuple of the rows, a tensor of its own, and the mini-batch. A loop that
    ends early closes its :class:`Pipeline`, whose errors it has.
    """

    def __init__(
        self, features: UnifiedTensor, sampler: Any, idxs_of: Callable[[Any], Any] = itself
    ) -> None:
        self.features, self.sampler, self.idxs_of = features, sampler, idxs_of

    def __len__(self) -> int:
        return len(self.sampler)

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        table, idxs_of = self.features.table, self.idxs_of
        with Pipeline(table, self.sampler, lambda batch: listed(idxs_of(batch))) as pipeline:
            for batch, rows in pipeline:
                yield self.features.tensor(rows), batch


def listed(idx: Any) -> Any:
    """Return what a tensor holds as an array; IndexError for bytes, which are a mask to PyTorch."""
    if not isinstance(idx, torch.Tensor):
        return idx
    if idx.dtype == torch.uint8:
        raise IndexError("a tensor of uint8 is a mask, and not a list of integers")
    return idx.detach().cpu().numpy()
