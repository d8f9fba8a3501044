"""Drives a whole cluster as a host: workers, switch, job; and watches that it does not hang."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any

from cocotb.triggers import Timer, gather, select

from hdl.p4sgd.worker_params import WorkerParams
from sim.harness.host_program import HostProgram
from sim.harness.streams import PERIOD_NS
from sim.p4sgd.host.job import EPOCHS, GROUP, SWITCH, open_job
from sim.p4sgd.surroundings.cluster import ClusterParams
from sim.p4sgd.switch_side import switch_side
from sim.p4sgd.training_job import NetworkSettings
from sim.p4sgd.worker_driver import WorkerDriver

JOB = 0
WATCH_CYCLES = 100_000  #: cycles between two polls of a running cluster


Then = Callable[[int, WorkerDriver], Awaitable[None]]


class StuckError(RuntimeError):
    """Says that no worker makes progress; the text names the slots that they wait in."""


def number(address: bytes) -> int:
    """Return an Ethernet address as registers hold it: the first byte is the lowest."""
    return int.from_bytes(address, "little")


class ClusterDriver:
    """Starts a job on all workers of a simulated cluster, and runs it.

    Of a cluster that is cut it has the workers ``numbers``, all unless given, and the switch only
    if ``has_switch``.
    """

    def __init__(
        self,
        dut: Any,
        params: ClusterParams,
        numbers: Sequence[int] | None = None,
        has_switch: bool = True,
    ) -> None:
        self.dut, self.params, self.epoch = dut, params, 0
        self.numbers = range(params.workers) if numbers is None else numbers
        self.workers = [
            WorkerDriver(dut, params.worker, f"_{k}") for k, _ in enumerate(self.numbers)
        ]
        self.switch: Any = None
        if has_switch:
            side = switch_side(params.network.switch)
            self.switch = HostProgram(dut, "s_axil_switch", side)

    async def start_job(
        self, network: NetworkSettings, under_way: int, then: Then | None = None
    ) -> None:
        """Begin a job of all workers on slots of its own, with a new epoch.

        ``under_way`` is the most AllReduces that can be under way at a time. ``then`` is awaited
        for each worker's number and the worker as soon as it has the job, whatever others do.
        """
        self.epoch = (self.epoch + 1) % EPOCHS
        count = self.params.workers
        slots = network.slots or self.params.worker.slots
        waits = {
            "timeout": network.patience(count, min(slots, under_way)),
            "retries": network.retries,
            "peer_retries": network.peer_retries,
        }
        run = {"job": JOB, "epoch": self.epoch, "base": 0, "slots": slots}

        async def open_worker(index: int, worker: WorkerDriver) -> None:
            everyone = (1 << count) - 1
            await worker.do(partial(open_job, index=index, everyone=everyone, **run, **waits))
            await worker.write(join=0)
            if then is not None:
                await then(index, worker)

        opening = [*map(open_worker, self.numbers, self.workers)]
        if self.switch is not None:
            opening.append(self.start_switch(slots))
        await gather(*opening)

    async def start_switch(self, slots: int) -> None:
        """Begin the job on the switch."""
        await self.switch.set_addresses(SWITCH, GROUP)
        ports = [*range(self.params.workers)]
        await self.switch.start_job(JOB, ports=ports, epoch=self.epoch, base=0, slots=slots)

    async def train(self) -> None:
        """Make one run on all workers, started in the same cycle.

        Raises the first worker's ``WorkerStopped``, or :class:`StuckError`.
        """
        await gather(*map(self.train_one, self.workers))

    async def train_one(self, worker: WorkerDriver) -> None:
        """Make a run on a worker, as in :meth:`train`."""
        await select(worker.train(), self.watch(worker))

    async def watch(self, worker: WorkerDriver) -> None:
        """Raise StuckError when a worker has not taken a micro-batch for a while."""
        before = None
        while True:
            await Timer(WATCH_CYCLES * PERIOD_NS, "ns")
            done = await worker.read("micro_batches")
            if done == before:
                raise StuckError(await self.describe())
            before = done

    async def describe(self) -> str:
        """Return a text that says which worker waits for what."""
        waiting = [
            f"worker {k} waits in slot {await worker.read('oldest_slot')} after"
            f" {await worker.read('micro_batches')}"
            for k, worker in zip(self.numbers, self.workers, strict=True)
        ]
        return f"no micro-batch in {WATCH_CYCLES:,} cycles: {'; '.join(waiting)} micro-batches"


def worker_params(params: WorkerParams | ClusterParams) -> WorkerParams:
    """Return the parameters of each worker."""
    return params.worker if isinstance(params, ClusterParams) else params
