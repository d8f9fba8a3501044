"""Drives a whole cluster as a host: workers, switch, job; and watches that it does not hang."""

from functools import partial
from typing import Any

import cocotb
from cocotb.triggers import Event, Timer

from hdl.p4sgd.worker_params import WorkerParams
from sim.harness.host_program import HostProgram
from sim.harness.streams import PERIOD_NS
from sim.p4sgd.host.job import EPOCHS, GROUP, SWITCH, open_job
from sim.p4sgd.host.worker import WorkerStopped
from sim.p4sgd.surroundings.cluster import ClusterParams
from sim.p4sgd.switch_side import switch_side
from sim.p4sgd.training_job import NetworkSettings
from sim.p4sgd.worker_driver import WorkerDriver

JOB = 0
WATCH_CYCLES = 100_000  #: cycles between two polls of a running cluster


class StuckError(RuntimeError):
    """Says that no worker makes progress; the text names the slots that they wait in."""


def number(address: bytes) -> int:
    """Return an Ethernet address as registers hold it: the first byte is the lowest."""
    return int.from_bytes(address, "little")


class ClusterDriver:
    """Starts a job on all workers of a simulated cluster, and runs it."""

    def __init__(self, dut: Any, params: ClusterParams) -> None:
        self.dut, self.params = dut, params
        self.workers = [WorkerDriver(dut, params.worker, f"_{k}") for k in range(params.workers)]
        self.switch = HostProgram(dut, "s_axil_switch", switch_side(params.network.switch))
        self.epoch = 0

    async def start_job(self, network: NetworkSettings, under_way: int) -> None:
        """Begin a job of all workers on slots of its own, with a new epoch.

        ``under_way`` is the most AllReduces that can be under way at a time.
        """
        self.epoch = (self.epoch + 1) % EPOCHS
        count = self.params.workers
        everyone = (1 << count) - 1
        slots = network.slots or self.params.worker.slots
        await self.switch.set_addresses(SWITCH, GROUP)
        ports = [*range(count)]
        await self.switch.start_job(JOB, ports=ports, epoch=self.epoch, base=0, slots=slots)
        waits = {
            "timeout": network.patience(count, min(slots, under_way)),
            "retries": network.retries,
            "peer_retries": network.peer_retries,
        }
        run = {"job": JOB, "epoch": self.epoch, "base": 0, "slots": slots}
        for index, worker in enumerate(self.workers):
            await worker.do(partial(open_job, index=index, everyone=everyone, **run, **waits))
            await worker.write(join=0)

    async def train(self) -> None:
        """Make one run on all workers, started in the same cycle.

        Raises the first worker's ``WorkerStopped``, or :class:`StuckError`.
        """
        running, failures = set(range(len(self.workers))), []
        ended = Event()

        async def follow(index: int) -> None:
            try:
                await self.workers[index].train()
            except WorkerStopped as failure:
                failures.append(failure)
            running.discard(index)
            if failures or not running:
                ended.set()

        async def watch() -> None:
            failures.append(await self.stuck())
            ended.set()

        tasks = [cocotb.start_soon(follow(index)) for index in running]
        tasks.append(cocotb.start_soon(watch()))
        await ended.wait()
        for task in tasks:
            task.cancel()
        if failures:
            raise failures[0]

    async def stuck(self) -> StuckError:
        """Wait until nobody has taken a micro-batch for a while; return who waits for what."""
        before = None
        while True:
            await Timer(WATCH_CYCLES * PERIOD_NS, "ns")
            done = [await worker.read("micro_batches") for worker in self.workers]
            if done == before:
                return StuckError(await self.describe(done))
            before = done

    async def describe(self, done: list[int]) -> str:
        """Return a text that says which worker waits for what."""
        waiting = [
            f"worker {k} waits in slot {await worker.read('oldest_slot')} after {count}"
            for k, (worker, count) in enumerate(zip(self.workers, done, strict=True))
        ]
        return f"no micro-batch in {WATCH_CYCLES:,} cycles: {'; '.join(waiting)} micro-batches"


def worker_params(params: WorkerParams | ClusterParams) -> WorkerParams:
    """Return the parameters of each worker."""
    return params.worker if isinstance(params, ClusterParams) else params
