"""Gathers rows on the RTL of a gather engine, in a slot of a host that others wrote."""

import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hdl.gather.engine_params import CHUNK, COMPLETION_BYTES, GatherEngineParams
from sim.gather.gathering import Gathering, gathering
from sim.gather.golden.engine import WorkRequest
from sim.gather.golden.rows import Table, reads
from sim.gather.picture import draw
from sim.gather.surroundings.card_system import CardParams
from sim.gather.surroundings.cards_system import CardsParams, CardsSystem
from sim.gather.workload import GatherWorkload
from sim.golden.pcie_link import (
    BEST_CASE,
    LINE,
    LINK_BYTES,
    MAX_READ,
    completion_bytes,
    cut_at,
    max_of_share,
    merged,
    read_bytes,
)
from sim.harness.measuring import MeasuringSession
from sim.harness.session import Listener, Result
from sim.harness.verilate import Build
from sim.surroundings.axi_ram import RAM_ARRAY, dump_file, ram_file

PICTURE = "gather.png"
RAM, DUMP = "device.bin", "gathered_{}.bin"  #: device memories before and behind the gather
HOST, REQUESTS = "host.bin", "requests.pickle"  #: the host's memory, and what it asks for
PAGE = 4096
GUARD = 64  #: bytes of device memory behind the rows, which must not change
GUARD_BYTE = 0xA5

FIGURES = {
    "cycles": "from the first work request's begin to the last one's completion",
    "rows": "rows that were gathered",
    "row_bytes": "bytes of them all",
    "reads": "packets to the host: reads of rows and idxs",
    "completions": "packets from the host",
    "read_bytes": "data of these packets, which is what is read of the host's memory",
    "link_bytes": "bytes on the link from the host, headers and framing included",
    "request_bytes": "bytes on the link to the host, of reads",
    "efficiency": "share of the bytes on the link that is data of rows",
    "share_of_best": "efficiency as a share of that of completions of 256 bytes",
    "bytes_per_second": "bytes of rows, at the clock, of all engines",
    "least_bytes_per_second": "those of the engine that had least, in its own cycles",
    "link_share": "share that the bytes on a link took of what Gen3 x16 carries, x8 of 256 bits",
    "memory_share": "share of the bandwidth of the host's memory that was read",
    "bus_share": "data that was read, as a share of what blocks can bring, a beat a cycle",
    "under_way": "mean requests under way, of all engines",
    "idx_waits": "cycles in which a row could have been asked for, and there was no idx",
    "exact": "1 if every byte is NumPy's table[idx]",
}


@dataclass(frozen=True)
class Places:
    """Says what lies where in the host's memory: the idxs, a completion an engine, the table."""

    what: Gathering
    base: int  #: of the table, behind a multiple of 4,096
    engines: int = 1
    posted: bool = False  #: rows go behind the table, each engine's with a guard behind them

    @property
    def counts(self) -> list[int]:
        """Return how many rows each engine gathers."""
        return [len(share.idxs) for share in self.what.shares(self.engines)]

    def place(self, engine: int) -> int:
        """Return where the rows that an engine posts begin."""
        row_bytes = self.what.table.shape[1]
        sizes = [count * row_bytes + GUARD for count in self.counts[:engine]]
        return self.table + self.what.table.nbytes + GUARD + sum(sizes)

    @property
    def completions(self) -> int:
        """Return where the completions go, one behind the other."""
        return -(-self.what.idxs.nbytes // COMPLETION_BYTES) * COMPLETION_BYTES

    @property
    def table(self) -> int:
        """Return where the table begins."""
        behind = self.completions + self.engines * COMPLETION_BYTES
        return -(-behind // PAGE) * PAGE + self.base

    def write_image(self, path: Path) -> None:
        """Write the host's memory before the gather: of the table, the rows that are asked for.

        The others are holes of the file, so that a large table takes no more than these.
        """
        with path.open("wb") as file:
            file.write(self.what.idxs.tobytes())
            for idx in np.unique(self.what.idxs).tolist():
                row = self.what.table[idx]
                file.seek(self.table + idx * row.nbytes)
                file.write(row.tobytes())
            file.truncate(self.table + self.what.table.nbytes)
            if self.posted:
                file.seek(self.place(0))
                file.write(bytes([GUARD_BYTE]) * (self.place(self.engines) - self.place(0)))

    def requests(self, order: int) -> list[WorkRequest]:
        """Return the work request of each engine."""
        rows, row_bytes = self.what.table.shape
        idx_bytes = self.what.idxs.dtype.itemsize
        counts = self.counts
        return [
            WorkRequest(
                idx_address=sum(counts[:number]) * idx_bytes,
                count=count,
                table=Table(base=self.table, rows=rows, row_bytes=row_bytes, stride=row_bytes),
                destination=self.place(number) if self.posted else 0,
                posted=self.posted,
                completion_address=self.completions + number * COMPLETION_BYTES,
                idx_bytes=idx_bytes,
                order=order,
            )
            for number, count in enumerate(counts)
        ]


class GatherSession(MeasuringSession):
    """Gathers rows, compares every byte with NumPy, and every read with the golden model's."""

    workload = GatherWorkload
    component = CardsSystem
    test_module = "sim.gather.gather_in_simulator"
    options = {"optimise": True, "extra_sources": [RAM_ARRAY]}
    counted = FIGURES
    maximise = ("bytes_per_second",)

    params: GatherEngineParams
    requested: GatherWorkload

    def __init__(self, params: GatherEngineParams, requested: GatherWorkload) -> None:
        super().__init__(params, requested)
        self.what = gathering(requested)
        self.shares = self.what.shares(requested.engines)
        posted = params.to_host and not params.to_memory
        self.places = Places(self.what, requested.base, requested.engines, posted)
        how = {"coalesce": requested.coalesce, "on_card": requested.idxs_on_card}
        behind = self.idx_place if requested.idxs_on_card else 0
        self.requests = [
            replace(request, idx_address=request.idx_address + behind, **how)
            for request in self.places.requests(requested.order.code)
        ]
        if not params.over_pcie:
            raise ValueError("host_bus must be pcie here, where the host is behind PCI Express")
        if not (params.to_memory or params.to_host):
            raise ValueError(
                "outputs must have device memory or the host here, where all rows are compared:"
                f" {params.outputs}"
            )
        if requested.coalesce and not params.kept_parts:
            raise ValueError("coalesce needs a build that keeps rows: --set kept_parts=4096")
        if requested.idxs_on_card and not params.card_idxs:
            raise ValueError("idxs_on_card needs a build that reads them: --set card_idxs=true")
        rows, row_bytes = self.what.table.shape
        self.decided = {"row_bytes": row_bytes, "idx_bytes": self.what.idxs.itemsize}
        if rows >= 1 << params.idx_bits or row_bytes >= 1 << params.stride_bits:
            raise ValueError(
                f"the build's table has less than {1 << params.idx_bits:,} rows of less than"
                f" {1 << params.stride_bits:,} bytes, not {rows:,} of {row_bytes:,}"
            )
        if self.device_bytes > 1 << params.address_bits:
            raise ValueError(
                f"{self.device_bytes:,} bytes of rows and idxs do not fit device memory of"
                f" address_bits={params.address_bits}"
            )
        self.shown: Result | None = None
        self.folder = Path()

    @classmethod
    def files(cls, requested: GatherWorkload) -> Sequence[Path]:
        """Return the table and the idxs, if they are files, and the graph."""
        return [*requested.files, *([Path(requested.graph)] if requested.idx is None else [])]

    @classmethod
    def hardware(cls, params: GatherEngineParams, requested: GatherWorkload) -> CardsParams:
        """Return engines, each with a device memory."""
        return CardsParams(card=CardParams(engine=params), cards=requested.engines)

    @property
    def link_bytes_per_second(self) -> float:
        """Return what a link carries: Gen3 x16, or x8 where the block has 256 bits."""
        return LINK_BYTES * self.params.data_bits / 512

    @property
    def row_bytes(self) -> int:
        """Return the bytes of all rows that are gathered."""
        return len(self.what.idxs) * self.what.table.shape[1]

    @property
    def max_bytes(self) -> int:
        """Return the bytes of rows of the engine that has most of them."""
        return len(self.shares[0].idxs) * self.what.table.shape[1]

    @property
    def idx_place(self) -> int:
        """Return where idxs are in each device memory: behind all rows."""
        return -(-(self.max_bytes + GUARD) // GUARD) * GUARD

    @property
    def device_bytes(self) -> int:
        """Return the bytes of an engine's device memory that are in use, at most."""
        idxs = self.idx_place + self.what.idxs.nbytes
        return idxs if self.requested.idxs_on_card else self.max_bytes * self.params.to_memory

    @property
    def title(self) -> str:
        """Describe rows and order in a line."""
        rows, row_bytes = self.what.table.shape
        return (
            f"{len(self.what.idxs):,} rows of {row_bytes:,} bytes, of {rows:,},"
            f" {self.requested.order.value}"
            + (f", on {self.requested.engines} engines" if self.requested.engines > 1 else "")
        )

    def about(self) -> Iterator[str]:
        """Yield the title, and where idxs come from that no file has."""
        yield self.title
        if self.requested.table is not None and self.requested.idx is None:
            graph = self.requested.graph
            yield f"no --idx names idxs: they are drawn from the graph {graph} (--graph)"

    def plusargs(self, folder: Path) -> Sequence[str]:
        """Fill both memories, and name where device memory goes behind the run."""
        self.places.write_image(folder / HOST)
        (folder / REQUESTS).write_bytes(pickle.dumps(self.requests))
        idxs = self.what.idxs.tobytes() if self.requested.idxs_on_card else b""
        (folder / RAM).write_bytes(bytes([GUARD_BYTE]) * self.idx_place + idxs)
        self.folder = folder.absolute()
        engines = range(self.requested.engines)
        dumps = [dump_file(k, self.folder / DUMP.format(k)) for k in engines]
        return [*(ram_file(k, self.folder / RAM) for k in engines), *dumps]

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

    def golden_reads(self, engine: int = 0) -> int:
        """Return how many packets the golden model of an engine reads rows and idxs by.

        These are at most as many: none is less because a row is kept.
        """
        requested, request, idxs = self.requested, self.requests[engine], self.shares[engine].idxs
        rows = reads(request.table, idxs.tolist(), requested.order.golden)
        most = MAX_READ if requested.order.golden is merged else LINE
        of_host = 0 if requested.idxs_on_card else idxs.nbytes
        chunks = cut_at(request.idx_address, request.idx_address + of_host, CHUNK)
        return len(rows) + sum(len(list(cut_at(a, b, most))) for a, b in chunks)

    def difference(
        self, counters: dict[str, int], gathered: NDArray[np.uint8], engine: int = 0
    ) -> str:
        """Return what of an engine is not as it must be, in a line; nothing if all is."""
        share = self.shares[engine]
        expected = share.required.ravel()
        wrong = np.flatnonzero(gathered[: len(expected)] != expected)
        if len(wrong):
            row, byte = divmod(int(wrong[0]), share.table.shape[1])
            return f"row {row} differs from table[idx] from byte {byte} on"
        if (gathered[len(expected) :][:GUARD] != GUARD_BYTE).any():
            return "memory was written behind the rows"
        for name, value in (("rows", len(share.idxs)), ("reads", self.golden_reads(engine))):
            fewer = self.requested.coalesce and name == "reads" and counters[name] < value
            if counters[name] != value and not fewer:
                return f"counter {name} says {counters[name]:,}, the golden model {value:,}"
        if code := self.requested.share_code:
            most = max_of_share(code, counters["cycles"], self.params.beat_bytes)
            if counters["read_bytes"] > most:
                return f"{counters['read_bytes']:,} bytes were read, where the share allows {most}"
        return ""

    def compared(self, result: Any) -> str:
        """Return the first engine that has something wrong, and what."""
        for engine, item in enumerate(result):
            dump = self.folder / DUMP.format(engine)
            gathered = np.frombuffer(dump.read_bytes(), np.uint8)
            if difference := self.difference(item["counters"], gathered, engine):
                return f"engine {engine}: {difference}" if len(result) > 1 else difference
        return ""

    def result(self, result: Any, clock_hz: float) -> Result:
        """Return what the counters say, and whether every byte is NumPy's."""
        difference = self.compared(result)
        engines = [item["counters"] for item in result]
        counters = {name: sum(item[name] for item in engines) for name in engines[0]}
        cycles = max(item["begun"] + item["counters"]["cycles"] for item in result)
        read, seconds = counters["read_bytes"], cycles / clock_hz
        link = read + counters["completions"] * completion_bytes(0)
        efficiency = self.row_bytes / link
        alone = [
            len(share.idxs) * share.table.shape[1] / item["cycles"] * clock_hz
            for share, item in zip(self.shares, engines, strict=True)
        ]
        figures = {name: float(counters[name]) for name in FIGURES if name in counters} | {
            "cycles": float(cycles),
            "row_bytes": float(self.row_bytes),
            "link_bytes": float(link),
            "request_bytes": float(counters["reads"] * read_bytes()),
            "efficiency": efficiency,
            "share_of_best": efficiency / float(BEST_CASE),
            "bytes_per_second": self.row_bytes / seconds,
            "least_bytes_per_second": min(alone),
            "link_share": link / seconds / self.link_bytes_per_second / len(engines),
            "memory_share": read / seconds / (self.requested.memory_gigabytes * 1e9),
            "bus_share": read / cycles / self.params.beat_bytes / len(engines),
            "under_way": counters["under_way"] / cycles,
            "exact": float(not difference),
        }
        self.shown = Result(
            figures=figures,
            compared="every byte equals NumPy's; rows are as many as in the golden model, reads"
            + (" no more" if self.requested.coalesce else " too"),
            difference=difference,
            details={"counters": counters, "engines": engines, "bytes_per_second": alone},
        )
        return self.shown

    def write(self, folder: Path) -> Sequence[str]:
        """Write a picture of what the bytes on the link were, beside the model of the link."""
        assert self.shown is not None
        about, figures = (self.title, self.requested, self.what), self.shown.figures
        engines = self.shown.details["bytes_per_second"]
        draw(folder / PICTURE, *about, figures, engines, self.link_bytes_per_second)
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
        if self.requested.engines > 1:
            each = ", ".join(f"{item / 1e9:.2f}" for item in result.details["bytes_per_second"])
            yield (
                f"{each} GB/s of each engine by itself; {f['memory_share']:.1%} of the host's"
                f" memory of {self.requested.memory_gigabytes:g} GB/s"
            )
