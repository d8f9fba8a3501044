"""The host of a network: it runs aggregations as jobs, one after the other."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import cocotb
import numpy as np
from numpy.typing import NDArray

from hdl.switchgnn.protocol import Kind, frame_bytes
from sim.harness.payloads import pack
from sim.harness.session import RunFailed
from sim.harness.streams import start
from sim.surroundings.link import ALWAYS
from sim.switchgnn.job import PlannedJob
from sim.switchgnn.network.network import NetworkParams
from sim.switchgnn.network.worker_host import SWITCH, WorkerHost
from sim.switchgnn.switch_driver import GnnSwitchDriver

GROUP = bytes.fromhex("03000000ff02")  #: address of all endpoints
JOB = 0
EPOCHS = 1 << 16  #: of a job: numbers that tell its runs apart
MOST_CYCLES = 500_000  #: of an aggregation; one that takes longer is stuck
SENT = tuple(Kind[name] for name in ("FEATURE", "PARTIAL", "RAW", "FETCH", "RAWFETCH", "DONE"))


@dataclass(frozen=True, kw_only=True)
class LinkSettings:
    """How links behave, each alike, in both directions."""

    latency: int = 20  #: cycles of a frame
    displacement: int = 400  #: most cycles by which one is late that was reordered or doubled
    drop: float = 0.0  #: chance of each frame
    duplicate: float = 0.0  #: likewise
    reorder: float = 0.0  #: likewise
    corrupt: float = 0.0  #: likewise
    seed: int = 1  #: of these chances

    @property
    def fields(self) -> dict[str, int]:
        """The settings port of a link."""
        chances = ("drop", "duplicate", "reorder", "corrupt")
        return {name: round(getattr(self, name) * ALWAYS) for name in chances} | {
            name: getattr(self, name) for name in ("latency", "displacement", "seed")
        }


Plans = Mapping[int, PlannedJob]  #: by the width of what is aggregated; they share their tables


class NetworkHost:
    """Drives a simulated network: one job, which does an aggregation and is started anew.

    Tables are written when the ones that are there are another plan's, features always.
    """

    def __init__(self, dut: Any, params: NetworkParams, open_turns: int) -> None:
        self.dut, self.params, self.open_turns = dut, params, open_turns
        self.epoch = 0
        self.loaded: Plans | None = None  #: whose lists and descriptors the switch has
        self.laid_out: PlannedJob | None = None  #: whose tables the workers have
        self.workers = [WorkerHost(dut, k, params.endpoints) for k in range(self.count)]
        for worker in self.workers:
            worker.address = GROUP
        self.sums = 0  #: that were wanted

    @property
    def count(self) -> int:
        """M."""
        return self.params.endpoints.workers

    async def begin(self, links: LinkSettings) -> None:
        """Out of reset."""
        self.dut.link_settings.value = pack(self.params.link.settings, links.fields)
        await start(self.dut)
        self.switch = GnnSwitchDriver(self.dut, self.params.switch, bus="switch_axil")
        await self.switch.set_addresses(SWITCH, GROUP)

    async def aggregate(self, plans: Plans, features: NDArray[np.int16]) -> NDArray[np.int64]:
        """The sums of neighbours at other workers; RunFailed if an endpoint fails."""
        planned = plans[features.shape[1]]
        job = planned.with_features([features])
        self.epoch = (self.epoch + 1) % EPOCHS
        setups = [job.worker(k, JOB, self.epoch, self.open_turns).setup for k in range(self.count)]
        await together(
            self.give(worker, setup, self.laid_out is planned)
            for worker, setup in zip(self.workers, setups, strict=True)
        )
        self.laid_out = planned
        await self.switch.start_job(
            JOB,
            setup=job.setup(self.open_turns),
            epoch=self.epoch,
            base=0,
            load=self.loaded is not plans,
        )
        self.loaded = plans
        await together(
            worker.start(setup, job=JOB, epoch=self.epoch)
            for worker, setup in zip(self.workers, setups, strict=True)
        )
        ends = await together(worker.ends(MOST_CYCLES) for worker in self.workers)
        for worker, end in enumerate(ends):
            if end != ("FINISHED", "NONE"):
                raise RunFailed(f"the endpoint of worker {worker} ended {end[0]}: {end[1]}")
        _, first = await self.switch.errors(JOB)
        if first is not None:
            raise RunFailed(f"the switch found an error in its tables: {first}")
        found: list[Any] = await together(worker.sums() for worker in self.workers)
        self.sums += sum(map(len, found))
        workers: list[Any] = [SimpleNamespace(sums=sums) for sums in found]
        return job.sums(workers)[0]

    async def give(self, worker: WorkerHost, setup: Any, is_laid_out: bool) -> None:
        """A worker's memories hold its job."""
        if is_laid_out:
            await worker.give(setup)
        else:
            await worker.load(setup)

    async def counts(self) -> Counter[str]:
        """All of sim.switchgnn.gcn.aggregator.COUNTERS since reset, from counters in hardware."""
        totals = await self.switch.totals()
        ports = [await self.switch.port_counts(k) for k in range(self.count)]
        workers = await together(worker.counters() for worker in self.workers)
        results = sum(port["results"] for port in ports)
        sent = {
            kind: sum(getattr(w, f"sent_{kind.name.lower()}") for w in workers) for kind in SENT
        }
        sent[Kind.RESULT] = results
        sent[Kind.RAW] += sum(port["raws"] for port in ports)
        frames, lanes = int(self.dut.frames.value), self.params.switch.lanes
        sent[Kind.ACK] = frames - sum(sent.values())  # with ADVANCEs, which are as long
        again = sum(worker.sent_again + worker.sent_fetch for worker in workers)
        return Counter(
            frames=frames,
            bytes=sum(count * frame_bytes(kind, lanes) for kind, count in sent.items()),
            repeats=again + results - self.sums,
            rows=totals["rows"],
            additions=totals["additions"],
            turns=totals["turns"],
            cycles=max(worker.cycles for worker in workers),
        )


async def together(coroutines: Any) -> list[Any]:
    """What each of them returns, all run at a time."""
    tasks = [cocotb.start_soon(each) for each in coroutines]
    return [await task for task in tasks]
