"""Gathers rows on the RTL of a gather engine, in a slot of a host that others wrote."""

import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hdl.gather.engine_params import CHUNK, COMPLETION_BYTES, GatherEngineParams
from sim.gather.golden.engine import WorkRequest
from sim.gather.golden.rows import Table, reads
from sim.gather.picture import draw
from sim.gather.surroundings.card_system import CardParams, CardSystem
from sim.gather.workload import Gathering, GatherWorkload, gathering
from sim.golden.pcie_link import (
    BEST_CASE,
    LINE,
    LINK_BYTES,
    MOST_READ,
    completion_bytes,
    cut_at,
    merged,
    read_bytes,
)
from sim.harness.measuring import MeasuringSession
from sim.harness.session import Listener, Result
from sim.harness.verilate import Build
from sim.surroundings.axi_ram import RAM_ARRAY, dump_file, ram_file

PICTURE = "gather.png"
RAM, DUMP = "device.bin", "gathered.bin"  #: device memory before and behind the gather
HOST, REQUEST = "host.bin", "request.pickle"  #: the host's memory, and what it asks for
PAGE = 4096
GUARD = 64  #: bytes of device memory behind the rows, which must not change
GUARD_BYTE = 0xA5

FIGURES = {
    "cycles": "from the work request's begin to its completion",
    "rows": "rows that were gathered",
    "row_bytes": "bytes of them all",
    "reads": "packets to the host: reads of rows and idxs",
    "completions": "packets from the host",
    "read_bytes": "data of these packets, which is what is read of the host's memory",
    "link_bytes": "bytes on the link from the host, headers and framing included",
    "request_bytes": "bytes on the link to the host, of reads",
    "efficiency": "share of the bytes on the link that is data of rows",
    "share_of_best": "efficiency as a share of that of completions of 256 bytes",
    "bytes_per_second": "bytes of rows, at the clock",
    "link_share": "share of the bandwidth of Gen3 x16 that the bytes on the link took",
    "under_way": "mean requests under way",
    "idx_waits": "cycles in which a row could have been asked for, and there was no idx",
    "exact": "1 if every byte is NumPy's table[idx]",
}


@dataclass(frozen=True)
class Places:
    """Says what lies where in the host's memory: the idxs, the completion, the table."""

    what: Gathering
    base: int  #: of the table, behind a multiple of 4,096

    @property
    def completion(self) -> int:
        """Return where the completion goes."""
        return -(-self.what.idxs.nbytes // COMPLETION_BYTES) * COMPLETION_BYTES

    @property
    def table(self) -> int:
        """Return where the table begins."""
        return -(-(self.completion + COMPLETION_BYTES) // PAGE) * PAGE + self.base

    def image(self) -> bytes:
        """Return the host's memory before the gather."""
        image = bytearray(self.table + self.what.table.nbytes)
        image[: self.what.idxs.nbytes] = self.what.idxs.tobytes()
        image[self.table :] = self.what.table.tobytes()
        return bytes(image)

    def request(self, order: int) -> WorkRequest:
        """Return the work request."""
        rows, row_bytes = self.what.table.shape
        return WorkRequest(
            idx_address=0,
            count=len(self.what.idxs),
            table=Table(base=self.table, rows=rows, row_bytes=row_bytes, stride=row_bytes),
            destination=0,
            completion_address=self.completion,
            idx_bytes=self.what.idxs.dtype.itemsize,
            order=order,
        )


class GatherSession(MeasuringSession):
    """Gathers rows, compares every byte with NumPy, and every read with the golden model's."""

    workload = GatherWorkload
    component = CardSystem
    test_module = "sim.gather.gather_in_simulator"
    options = {"optimise": True, "extra_sources": [RAM_ARRAY]}
    counted = FIGURES
    maximise = ("bytes_per_second",)

    params: GatherEngineParams
    asked: GatherWorkload

    def __init__(self, params: GatherEngineParams, asked: GatherWorkload) -> None:
        super().__init__(params, asked)
        self.what = gathering(asked)
        self.places = Places(self.what, asked.base)
        self.request = self.places.request(asked.order.code)
        rows, row_bytes = self.what.table.shape
        if rows >= 1 << params.idx_bits or row_bytes >= 1 << params.stride_bits:
            raise ValueError(
                f"the build's table has less than {1 << params.idx_bits:,} rows of less than"
                f" {1 << params.stride_bits:,} bytes, not {rows:,} of {row_bytes:,}"
            )
        if self.row_bytes > 1 << params.address_bits:
            raise ValueError(
                f"{self.row_bytes:,} bytes of rows do not fit device memory of"
                f" address_bits={params.address_bits}"
            )
        self.shown: Result | None = None
        self.folder = Path()

    @classmethod
    def files(cls, asked: GatherWorkload) -> Sequence[Path]:
        """Return the table and the idxs, if they are files, and the graph."""
        return [*asked.files, *([Path(asked.graph)] if asked.idx is None else [])]

    @classmethod
    def hardware(cls, params: GatherEngineParams, asked: GatherWorkload) -> CardParams:
        """Return an engine with its device memory."""
        return CardParams(engine=params)

    @property
    def row_bytes(self) -> int:
        """Return the bytes of all rows that are gathered."""
        return len(self.what.idxs) * self.what.table.shape[1]

    @property
    def title(self) -> str:
        """Describe rows and order in a line."""
        rows, row_bytes = self.what.table.shape
        return (
            f"{len(self.what.idxs):,} rows of {row_bytes:,} bytes, of {rows:,},"
            f" {self.asked.order.value}"
        )

    def about(self) -> Iterator[str]:
        """Yield the title."""
        yield self.title

    def plusargs(self, folder: Path) -> Sequence[str]:
        """Fill both memories, and name where device memory goes behind the run."""
        (folder / HOST).write_bytes(self.places.image())
        (folder / REQUEST).write_bytes(pickle.dumps(self.request))
        (folder / RAM).write_bytes(bytes([GUARD_BYTE]) * (self.row_bytes + GUARD))
        self.folder = folder.absolute()
        return [ram_file(0, self.folder / RAM), dump_file(0, self.folder / DUMP)]

    def run(
        self,
        simulator: Build,
        folder: Path,
        listener: Listener | None = None,
        clock_mhz: float = 250.0,
    ) -> Result:
        """Gather in ``folder``."""
        (listener or Listener()).progress("gathering on the RTL")
        return super().run(simulator, folder, listener, clock_mhz)

    def golden_reads(self) -> int:
        """Return how many packets the golden model reads rows and idxs by."""
        asked, request = self.asked, self.request
        rows = reads(request.table, self.what.idxs.tolist(), asked.order.golden)
        most = MOST_READ if asked.order.golden is merged else LINE
        chunks = cut_at(request.idx_address, self.what.idxs.nbytes, CHUNK)
        return len(rows) + sum(len(list(cut_at(a, b, most))) for a, b in chunks)

    def difference(self, counters: dict[str, int], gathered: NDArray[np.uint8]) -> str:
        """Return what is not as it must be, in a line; nothing if all is."""
        wanted = self.what.wanted.ravel()
        wrong = np.flatnonzero(gathered[: len(wanted)] != wanted)
        if len(wrong):
            row, byte = divmod(int(wrong[0]), self.what.table.shape[1])
            return f"row {row} differs from table[idx] from byte {byte} on"
        if (gathered[len(wanted) :][:GUARD] != GUARD_BYTE).any():
            return "device memory was written behind the rows"
        for name, value in (("rows", len(self.what.idxs)), ("reads", self.golden_reads())):
            if counters[name] != value:
                return f"counter {name} says {counters[name]:,}, the golden model {value:,}"
        return ""

    def result(self, found: Any, clock_hz: float) -> Result:
        """Return what the counters say, and whether every byte is NumPy's."""
        counters = found["counters"]
        gathered = np.frombuffer((self.folder / DUMP).read_bytes(), np.uint8)
        difference = self.difference(counters, gathered)
        link = counters["read_bytes"] + counters["completions"] * completion_bytes(0)
        seconds = counters["cycles"] / clock_hz
        efficiency = self.row_bytes / link
        figures = {name: float(counters[name]) for name in FIGURES if name in counters} | {
            "row_bytes": float(self.row_bytes),
            "link_bytes": float(link),
            "request_bytes": float(counters["reads"] * read_bytes()),
            "efficiency": efficiency,
            "share_of_best": efficiency / float(BEST_CASE),
            "bytes_per_second": self.row_bytes / seconds,
            "link_share": link / seconds / LINK_BYTES,
            "under_way": counters["under_way"] / counters["cycles"],
            "exact": float(not difference),
        }
        self.shown = Result(
            figures=figures,
            exact=not difference,
            difference=difference,
            details={"counters": counters},
        )
        return self.shown

    def write(self, folder: Path) -> Sequence[str]:
        """Write a picture of what the bytes on the link were, beside the model of the link."""
        assert self.shown is not None
        draw(folder / PICTURE, self.title, self.asked, self.what, self.shown.figures)
        return (PICTURE,)

    def summary(self, result: Result) -> Iterator[str]:
        """Yield lines of figures."""
        f = result.figures
        yield (
            f"{f['row_bytes']:,.0f} bytes of rows in {f['cycles']:,.0f} cycles:"
            f" {f['bytes_per_second'] / 1e9:.2f} GB/s"
        )
        yield (
            f"on the link {f['link_bytes']:,.0f} bytes in {f['completions']:,.0f} completions of"
            f" {f['reads']:,.0f} reads: {f['efficiency']:.1%} are rows, {f['share_of_best']:.1%}"
            " of the best case"
        )
        yield (
            f"{f['read_bytes']:,.0f} bytes read of host memory, {f['under_way']:.1f} requests under"
            f" way on average, {f['idx_waits']:,.0f} cycles without an idx"
        )
        if result.exact:
            yield "every byte equals NumPy's, every read the golden model's"
