"""Counts bytes of frames, and of everything that a plan sends."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from sim.switchgnn.planning.senders import Senders

BEAT = 64  #: bytes; a frame has one of head, then its payload in whole ones
FEATURE_BYTES = 2
SUM_BYTES = 4
LINK = 100e9 / 8 / BEAT / 250e6  #: beats a cycle of 250 MHz that 100 Gb/s carry
PACKET = 128 * SUM_BYTES / BEAT / LINK  #: cycles that 128 sums take there, without a head

Ints = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class FrameSizes:
    """Says how many bytes a packet of L features, and one of L sums, takes of a link."""

    feature: int  #: FEATURE and RAW
    sums: int  #: PARTIAL and RESULT

    @classmethod
    def of(cls, lanes: int) -> Self:
        """Return the sizes of frames of ``lanes`` features of 16 bits, or sums of 32."""
        feature, sums = (
            BEAT * (1 - (-lanes * size // BEAT)) for size in (FEATURE_BYTES, SUM_BYTES)
        )
        return cls(feature=feature, sums=sums)


#: Counts as the paper does: a feature and a sum are the same amount, and heads are nothing.
PAPER = FrameSizes(feature=1, sums=1)


@dataclass(frozen=True, kw_only=True, eq=False)
class Traffic:
    """Counts the packets of one slice by block and worker: [blocks, M] each.

    Blocks are done one after the other: a switch waits for the busiest port of each.
    """

    features: Ints  #: FEATUREs that a worker sends
    partials: Ints  #: PARTIALs that it sends
    raws: Ints  #: RAWs, features of others, that it receives
    results: Ints  #: RESULTs that it receives

    @property
    def packets(self) -> int:
        """Return the number of all packets, on the links of senders and of receivers."""
        return int(sum(each.sum() for each in self._kinds))

    @property
    def _kinds(self) -> tuple[Ints, Ints, Ints, Ints]:
        return self.features, self.partials, self.raws, self.results

    def bytes(self, sizes: FrameSizes) -> int:
        """Return the bytes of one slice on all links."""
        features = int(self.features.sum() + self.raws.sum())
        return features * sizes.feature + (self.packets - features) * sizes.sums

    def of_blocks(self, sizes: FrameSizes) -> Ints:
        """Return the bytes in or out of each block's busiest port: [blocks]."""
        entering = self.features * sizes.feature + self.partials * sizes.sums
        leaving = self.raws * sizes.feature + self.results * sizes.sums
        return np.maximum(entering, leaving).max(1)

    def busiest(self, sizes: FrameSizes) -> int:
        """Return the bytes in or out of each block's busiest port, added up."""
        return int(self.of_blocks(sizes).sum())

    def mean(self, sizes: FrameSizes) -> float:
        """Return the bytes of each port if all had the same traffic, in one block."""
        entering = (self.features * sizes.feature + self.partials * sizes.sums).sum(0).mean()
        leaving = (self.raws * sizes.feature + self.results * sizes.sums).sum(0).mean()
        return float(max(entering, leaving))


def traffic_of(senders: Senders, workers: int) -> Traffic:
    """Count what a plan sends and receives of one slice."""
    shape = (senders.blocks, workers)
    sent = counted(senders.block[~senders.partial], senders.worker[~senders.partial], shape)
    return Traffic(
        features=sent,
        partials=counted(senders.block[senders.partial], senders.worker[senders.partial], shape),
        raws=np.zeros(shape, np.int64),
        results=counted(senders.aggregator_block, senders.aggregator_worker, shape),
    )


def counted(
    rows: NDArray[np.integer], columns: NDArray[np.integer], shape: tuple[int, int]
) -> Ints:
    """Count how often each (row, column) occurs."""
    keys = rows.astype(np.int64) * shape[1] + columns
    return np.bincount(keys, minlength=shape[0] * shape[1]).reshape(shape)
