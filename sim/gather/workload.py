"""Describes what a gather is asked to do."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from hdl.gather.limits import MAX_ROW
from sim.gather.surroundings.limits import MAX_CARDS
from sim.golden import pcie_link
from sim.harness.workload import Workload, setting

IDX_BYTES = (4, 8)


class Order(StrEnum):
    """Names how rows are read."""

    MERGED = "merged"  #: by as few reads as there can be
    ALIGNED = "aligned"  #: by lines of 128 bytes
    NAIVE = "naive"  #: by 128 bytes from the row's begin on

    @property
    def code(self) -> int:
        """Return the order's number in a work request."""
        return list(Order).index(self)

    @property
    def golden(self) -> pcie_link.Order:
        """Return the reads of the golden model."""
        return getattr(pcie_link, self.value)


@dataclass(frozen=True, kw_only=True)
class GatherWorkload(Workload):
    """Asks for rows of a table, by the idxs of a file or of a mini-batch of a graph."""

    table: str | None = setting(
        None,
        "Take rows of this table: a .npy file; its first axis counts the rows, of 1 to"
        f" {MAX_ROW} bytes.",
        metavar="FILE.npy",
        shown="a random one",
    )
    idx: str | None = setting(
        None,
        "Take the rows of these idxs: a .npy file of whole numbers of 4 or 8 bytes.",
        metavar="FILE.npy",
        shown="a mini-batch",
    )
    graph: str = setting(
        "uk:rows=20000",
        "Draw the mini-batch on this graph: a family of ingather spmm, or a Matrix Market file of"
        " edges.",
        metavar="FAMILY[:KEY=VALUE,...]|PATH",
    )
    batch: int = setting(2, "Start the mini-batch from this many vertices.", least=1)
    fan_outs: str = setting(
        "25,10",
        "Draw this many neighbours of each vertex, then of each of those, ...",
        metavar="N,...",
    )
    row_bytes: int = setting(
        1028, "Give a row of a random table this many bytes.", least=1, most=MAX_ROW
    )
    idx_bytes: int = setting(8, "Give an idx of a mini-batch this many bytes: 4 or 8.")
    order: Order = setting(Order.MERGED, "Read rows in this order of reads.")
    repeats: bool = setting(False, "Ask for a vertex each time that it is drawn, not once.")
    coalesce: bool = setting(
        False, "Read a row once if its idx is repeated soon; this needs kept_parts."
    )
    idxs_on_card: bool = setting(False, "Put the idxs into device memory; this needs card_idxs.")
    most_reads: int = setting(
        0, "Let this many reads be under way at most; 0: as many as there are tags.", least=0
    )
    share: float = setting(
        100.0,
        "Keep the data that an engine reads to this percentage of what its block can bring, 64"
        " bytes a cycle (32 of 256 bits), in steps of 1/256; 100: no limit.",
        least=0.4,
        most=100,
        metavar="PERCENT",
    )
    engines: int = setting(
        1,
        "Share the idxs between this many engines, each on a card and a link of its own.",
        least=1,
        most=MAX_CARDS,
    )
    memory_gigabytes: float = setting(
        59.0,
        "Let the host's memory carry this many gigabytes a second for all engines together.",
        least=0.1,
        most=1000,
    )
    base: int = setting(
        4, "Let the table begin this many bytes behind a multiple of 4,096.", least=0, most=4095
    )
    seed: int = setting(
        1, "Draw the table and the mini-batch with this seed.", least=0, most=(1 << 31) - 1
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.idx_bytes not in IDX_BYTES:
            raise ValueError(f"idx_bytes must be 4 or 8: {self.idx_bytes}")
        if self.most_reads > 1023:
            raise ValueError(f"most_reads must be from 0 to 1023: {self.most_reads}")
        _ = self.layers  # judges

    @property
    def idle(self) -> set[str]:
        """Return the names of the fields that have no effect beside the others."""
        result = {"row_bytes"} if self.table is not None else set()
        if self.idx is not None:
            result |= {"graph", "batch", "fan_outs", "idx_bytes", "repeats"}
        return result | {"seed"} if {"row_bytes", "graph"} <= result else result

    @property
    def share_code(self) -> int:
        """Return the share as an engine's register takes it: in 256ths; 0: all."""
        return round(self.share * 256 / 100) % 256

    @property
    def layers(self) -> list[int]:
        """Return the fan-outs as numbers."""
        try:
            result = [int(text) for text in self.fan_outs.split(",")]
        except ValueError:
            result = [0]
        if min(result) < 1:
            raise ValueError(
                f"fan_outs must be numbers from 1 on, joined by commas: {self.fan_outs!r}"
            )
        return result

    @property
    def files(self) -> list[Path]:
        """Return the files that are named."""
        return [Path(name) for name in (self.table, self.idx) if name is not None]
