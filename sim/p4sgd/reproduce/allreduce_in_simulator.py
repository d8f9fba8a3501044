"""Sends activations through transports, links and switch, and notes when their sums come back."""

import json
import os
import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge

from hdl.p4sgd.transport.params import NETWORK_SETTINGS
from sim.harness.host_program import HostProgram
from sim.harness.payloads import pack, unpack
from sim.harness.streams import start
from sim.harness.verilator import params_in_simulator
from sim.p4sgd.cluster_driver import JOB, number
from sim.p4sgd.host.job import GROUP, SWITCH
from sim.p4sgd.reproduce.allreduce import ORDERS, RESULTS, Order
from sim.p4sgd.surroundings.allreduce_system import AllReduceParams
from sim.p4sgd.switch_side import switch_side
from sim.p4sgd.training_job import NetworkSettings
from sim.surroundings.link import LINK_COUNTS

EPOCH = 1
SPARE = 4000  #: cycles that a worker may wait for the others


@cocotb.test()
async def measure(dut: Any) -> None:
    """Carry out all orders, one after the other."""
    orders = [Order(**order) for order in json.loads(os.environ[ORDERS])]
    params = params_in_simulator(AllReduceParams)
    bench = Bench(dut, params)
    result = []
    for order in orders:
        await bench.begin(order.link_latency, order.sums)
        result.append(await bench.measure(order))
        await ClockCycles(dut.clk, 4)
    Path(os.environ[RESULTS]).write_text(json.dumps(result))


class Bench:
    """Drives all workers' ends of the network."""

    def __init__(self, dut: Any, params: AllReduceParams) -> None:
        self.dut, self.params = dut, params
        self.workers = range(params.network.workers)
        self.edge = RisingEdge(dut.clk)
        self.switch = HostProgram(dut, "s_axil", switch_side(params.network.switch))

    def port(self, name: str, worker: int) -> Any:
        """Return a port of a worker's transport."""
        return getattr(self.dut, name.format(worker))

    async def measure(self, order: Order) -> dict[str, Any]:
        """Carry out an order; return what was measured, by its name."""
        before = self.sent()
        if order.sums:
            measured: dict[str, Any] = {"cycles": await self.side_by_side(order.count)}
        else:
            each = [await self.add_up(order.spread) for _ in range(order.count)]
            measured = {
                "cycles": [cycles for latencies, _ in each for cycles in latencies],
                "free": sum(free for _, free in each) / len(each),
            }
        return measured | {"packets": (self.sent() - before) / len(self.workers) / order.count}

    def sent(self) -> int:
        """Return how many packets the workers have sent: as many as come back, of all on links."""
        return unpack(LINK_COUNTS, int(self.dut.counts.value))["sent"] // 2

    async def begin(self, latency: int, sums: int = 0) -> None:
        """Begin a new job on links of this latency, with so many sums at the switch, or all."""
        dut, params = self.dut, self.params
        network = NetworkSettings(latency=latency)
        everyone = (1 << len(self.workers)) - 1
        slots = sums // params.network.switch.copies or params.transport.slots
        dut.link.value = pack(params.network.link.settings, network.fields)
        dut.cut.value = 0
        dut.clear.value = 0
        for k in self.workers:
            settings = {
                "address": number(bytes([2, 0, 0, 0, 0, k])),
                "switch_address": number(SWITCH),
                "group_address": number(GROUP),
                "worker": k,
                "workers": everyone,
                "job": JOB,
                "epoch": EPOCH,
                "slot_base": 0,
                "slot_count": slots,
                "timeout": network.patience(len(self.workers), 1) + SPARE,
                "retries": 0,
                "peer_retries": 0,
            }
            self.port("settings_{}", k).value = pack(NETWORK_SETTINGS, settings)
            self.port("partial_{}_valid", k).value = 0
            self.port("full_{}_ready", k).value = 1
        await start(dut)
        await self.switch.set_addresses(SWITCH, GROUP)
        await self.switch.start_job(JOB, ports=[*self.workers], epoch=EPOCH, base=0, slots=slots)
        dut.clear.value = 1
        await self.edge
        dut.clear.value = 0
        await ClockCycles(dut.clk, slots + 2)

    async def side_by_side(self, count: int) -> list[int]:
        """Run AllReduces as fast as slots allow; return the cycles from each sum to the next."""
        dut, taken, given, at = self.dut, dict.fromkeys(self.workers, 0), 0, []
        for k in self.workers:
            self.port("partial_{}_payload", k).value = 0
        while len(at) < count or int(dut.idle.value) != (1 << len(self.workers)) - 1:
            for k in self.workers:
                self.port("partial_{}_valid", k).value = taken[k] < count
            await self.edge
            given += 1
            for k in self.workers:
                valid = self.port("partial_{}_valid", k).value
                taken[k] += bool(valid and self.port("partial_{}_ready", k).value)
            if self.port("full_{}_valid", self.workers[0]).value:
                at.append(given)
        return [b - a for a, b in pairwise(at)]

    async def add_up(self, spread: int) -> tuple[list[int], int]:
        """Run an AllReduce; return each worker's cycles from the last partial in to the sum out.

        The cycles until the slot is free at all workers come with it. The workers start at random
        within ``spread`` cycles, or all in the same cycle.
        """
        dut, layout = self.dut, self.params.transport.activations
        starts = {k: random.randrange(spread) if spread else 0 for k in self.workers}
        values = [[random.randrange(-1000, 1000) for _ in range(layout.length)] for _ in starts]
        total = pack(layout, [sum(lane) for lane in zip(*values, strict=True)])
        for k in self.workers:
            self.port("partial_{}_payload", k).value = pack(layout, values[k])
        sent: dict[int, int] = {}
        seen: dict[int, int] = {}
        now = 0
        while len(seen) < len(starts):
            for k in self.workers:
                valid = now >= starts[k] and k not in sent
                self.port("partial_{}_valid", k).value = valid
            await self.edge
            for k in self.workers:
                if k not in sent and now >= starts[k] and self.port("partial_{}_ready", k).value:
                    sent[k] = now
                if self.port("full_{}_valid", k).value:
                    assert k not in seen, f"worker {k} got two sums"
                    assert int(self.port("full_{}_payload", k).value) == total, f"worker {k}"
                    seen[k] = now
            now += 1
            assert now < 20_000, "no sum"
        while int(dut.idle.value) != (1 << len(starts)) - 1:
            await self.edge
            now += 1
        last = max(sent.values())
        return [seen[k] - last for k in self.workers], now - last
