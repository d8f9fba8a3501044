"""Drives a network as its host: it runs aggregations as jobs, one after the other."""

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from cocotb.triggers import Timer
from numpy.typing import NDArray

from gen.base.comments import meanings
from hdl.switchgnn.endpoint.bundles import Cause
from sim.harness.clock import PERIOD_NS
from sim.harness.payloads import pack
from sim.harness.session import RunFailed
from sim.harness.streams import cycle, start
from sim.host.switch.job_switch import CommandRefused
from sim.switchgnn.golden.job_setup import JobSetup
from sim.switchgnn.golden.worker_rule import WorkerSetup
from sim.switchgnn.job import PlannedJob
from sim.switchgnn.network.network import NetworkParams
from sim.switchgnn.network.patience import Patience
from sim.switchgnn.network.requests import Begin
from sim.switchgnn.network.tasks import together
from sim.switchgnn.network.worker_host import SWITCH, WorkerHost
from sim.switchgnn.network.worker_image import WorkerImage
from sim.switchgnn.switch_program import GnnSwitchProgram, rows_of_descriptors

GROUP = bytes.fromhex("03000000ff02")  #: address of all endpoints
JOB = 0
EPOCHS = 1 << 16  #: number of epochs of a job: numbers that tell its runs apart
POLL_CYCLES = 64  #: cycles between two polls of the workers

Plans = Mapping[int, PlannedJob]  #: plans by the width of what is added; they share their tables


class Place(NamedTuple):
    """Says where a plan's tables are in the switch, in rows."""

    lists: int
    descriptors: int
    list_rows: int
    descriptor_rows: int

    @property
    def lists_end(self) -> int:
        """Return the row behind the last one of the lists."""
        return self.lists + self.list_rows

    @property
    def descriptors_end(self) -> int:
        """Return the row behind the last one of the descriptors."""
        return self.descriptors + self.descriptor_rows


class NetworkHost:
    """Drives a simulated network by one job, which is started anew for each aggregation.

    Tables of plans stay where they were written, so that only features are written each time.
    """

    def __init__(self, dut: Any, params: NetworkParams, begin: Begin) -> None:
        self.dut, self.params, self.open_turns = dut, params, begin.open_turns
        self.patience = Patience(params=params, links=begin.links, timeout=begin.timeout)
        self.epoch = EPOCHS - 2  #: the second aggregation begins anew with 0
        #: where lists and descriptors are that the switch has, by their plans' id
        self.places: dict[int, Place] = {}
        self.images: dict[int, list[WorkerImage]] = {}  #: what workers' memories hold, by plan's id
        self.workers = [WorkerHost(dut, k, params.endpoints) for k in range(self.count)]
        for worker in self.workers:
            worker.address = GROUP
        self.sums = 0  #: sums that were wanted
        self.planned_bytes = 0  #: planned bytes of all aggregations

    @property
    def count(self) -> int:
        """Return M, the number of workers."""
        return self.params.endpoints.workers

    async def begin(self) -> None:
        """Start the simulation, leave reset, and set links and addresses."""
        links = self.patience.links
        self.dut.link_settings.value = pack(self.params.link.settings, links.fields)
        await start(self.dut)
        self.switch = GnnSwitchProgram(self.dut, self.params.switch, bus="switch_axil")
        await self.switch.set_addresses(SWITCH, GROUP)

    async def aggregate(self, plans: Plans, features: NDArray[np.int16]) -> NDArray[np.int64]:
        """Return sums of neighbours at other workers; raise RunFailed if the hardware hangs."""
        planned = plans[features.shape[1]]
        job = planned.with_features([features])
        self.planned_bytes += planned.bytes
        self.epoch = (self.epoch + 1) % EPOCHS
        setups = [job.worker(k, JOB, self.epoch, self.open_turns).setup for k in range(self.count)]
        await self.give(planned, setups)
        await self.start_switch(plans, job.setup(self.open_turns))
        await together(
            worker.start(setup, job=JOB, epoch=self.epoch, **self.patience.fields)
            for worker, setup in zip(self.workers, setups, strict=True)
        )
        await self.ends(job)
        found = await self.switch.table_errors(JOB)
        if found.cause != "NONE":
            raise RunFailed(f"the switch found an error in its tables: {found}")
        sums: list[Any] = await together(worker.sums() for worker in self.workers)
        self.sums += sum(map(len, sums))
        workers: list[Any] = [SimpleNamespace(sums=each) for each in sums]
        return job.sums(workers)[0]

    async def start_switch(self, plans: Plans, setup: JobSetup) -> None:
        """Start a job on the switch; raise RunFailed if it refuses. Its tables stay for later."""
        known = self.places.get(id(plans))
        place = known or self.free_place(setup)
        try:
            await self.switch.start_job(
                JOB,
                setup=setup,
                epoch=self.epoch,
                base=0,
                list_base=place.lists,
                descriptor_base=place.descriptors,
                load=known is None,
            )
        except CommandRefused as refused:
            raise RunFailed(str(refused)) from None
        self.places[id(plans)] = place

    def free_place(self, setup: JobSetup) -> Place:
        """Return room behind all tables of the switch, or its beginning if there is none."""
        lists = len(setup.rows)
        descriptors = rows_of_descriptors(setup)
        place = Place(
            max((one.lists_end for one in self.places.values()), default=0),
            max((one.descriptors_end for one in self.places.values()), default=0),
            lists,
            descriptors,
        )
        rows, descriptor_rows = self.switch.room
        if place.lists_end > rows or place.descriptors_end > descriptor_rows:
            self.places.clear()
            return Place(0, 0, lists, descriptors)
        return place

    async def ends(self, job: PlannedJob) -> None:
        """Wait until all workers finish; raise RunFailed if one fails, or they take too long."""
        first, most, running = cycle(), self.patience.most_cycles(job), list(self.workers)
        while running:
            late = cycle() - first > most
            states = await together(worker.state("state") for worker in running)
            for worker, state in zip(running, states, strict=True):
                if state not in ("RUNNING", "STOPPING", "FINISHED"):
                    cause = await worker.state("cause")
                    raise RunFailed(
                        f"the endpoint of worker {worker.port} gave the aggregation up: {cause},"
                        f" {meanings(Cause)[Cause[cause]]}"
                    )
            running = [
                worker for worker, state in zip(running, states, strict=True) if state != "FINISHED"
            ]
            if running and late:
                raise RunFailed(await self.stuck(running[0], job, most))
            await Timer(POLL_CYCLES * PERIOD_NS, "ns")

    async def stuck(self, worker: WorkerHost, job: PlannedJob, most: int) -> str:
        """Describe what is known of a worker that has not ended."""
        lo = await worker.registers.read("lo")
        counts = await worker.counters()
        turn = min(lo, len(job.slices) - 1)
        share = job.shares[worker.port][job.slices[turn].block]
        closed = counts.taken_closed + counts.taken_wrong_run + counts.taken_unwanted
        return (
            f"worker {worker.port} does not end the aggregation in {most:,} cycles, which is more"
            f" than its size and the links explain: turn {lo} of {len(job.slices)} is open, with"
            f" {len(share.sends):,} frames to send and {len(share.sums):,} sums to get; since reset"
            f" it sent {counts.sent_feature + counts.sent_partial:,} frames with features"
            f" ({counts.sent_again:,} again) and {counts.sent_fetch:,} FETCHes, and got"
            f" {counts.taken_sum:,} sums, {counts.taken_acknowledged:,} ACKs and {closed:,} frames"
            " of no use"
        )

    async def give(self, planned: PlannedJob, setups: Sequence[WorkerSetup]) -> None:
        """Write a job to the workers' memories; only features, if its plan is there."""
        pairs = list(zip(self.workers, setups, strict=True))
        if id(planned) in self.images:
            for worker, image in zip(self.workers, self.images[id(planned)], strict=True):
                worker.image = image
            await together(worker.give(setup) for worker, setup in pairs)
            return
        last = [*self.images.values()][-1] if self.images else [None] * self.count
        await together(
            worker.load_behind(setup, image)
            for (worker, setup), image in zip(pairs, last, strict=True)
        )
        self.images[id(planned)] = [worker.image for worker in self.workers]
