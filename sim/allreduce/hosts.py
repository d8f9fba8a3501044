"""Plays golden workers behind the links of a network, which reduce numbers by its switch."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sim.allreduce.surroundings.network import LINE_BYTES, NetworkParams
from sim.allreduce.switch_side import switch_side
from sim.golden.reduction.wide_frames import COMBINE, NUMBER, Operation, Total, wire_bytes
from sim.golden.reduction.wide_worker import WideWorker
from sim.harness.axi_streams import AxiSource, PacketSink, beats_of
from sim.harness.host_program import HostProgram
from sim.harness.payloads import pack
from sim.harness.streams import cycle, edges, start

SWITCH, GROUP = b"\2\0\0\0\0\x10", b"\3\0\0\0\0\1"
STEP = 16  #: cycles between two looks of a host at what has come


class Hosts:
    """Reduces numbers of the hosts at all ports of a network; each has a golden worker.

    ``options`` are those of the workers, whose time is in cycles.
    """

    def __init__(self, dut: Any, params: NetworkParams, **options: Any) -> None:
        self.dut, self.params, ports = dut, params, range(params.switch.ports)
        self.workers = [WideWorker(port=k, address=SWITCH, group=GROUP, **options) for k in ports]
        self.sources = [AxiSource(dut, f"from_hosts_{k}") for k in ports]
        self.sinks = [PacketSink(dut, f"to_hosts_{k}") for k in ports]
        self.taken = [0 for _ in ports]  # packets that each host has looked at

    async def begin(self, **link: int) -> None:
        """Start a job of all ports on all slots; ``link`` sets the links."""
        self.dut.link.value = pack(self.params.link.settings, link)
        await start(self.dut)
        self.host = HostProgram(self.dut, "s_axil", switch_side(self.params.switch))
        await self.host.set_addresses(SWITCH, GROUP)
        ports, slots = [*range(self.params.switch.ports)], self.params.switch.slots
        await self.host.start_job(0, ports=ports, epoch=0, base=0, slots=slots)

    async def reduce(self, numbers: np.ndarray, operation: Operation) -> None:
        """Reduce the rows of ``numbers``, one of each host; AssertionError if a result is wrong."""
        for worker, row in zip(self.workers, numbers, strict=True):
            worker.begin(row, operation)
        while not all(worker.done for worker in self.workers):
            for k, worker in enumerate(self.workers):
                for packet in self.sinks[k].packets[self.taken[k] :]:
                    worker.take(packet.octets, corrupt=packet.corrupt)
                    self.taken[k] += 1
                for data in worker.due(cycle()):
                    self.sources[k].extend([*beats_of(data)])
                assert worker.failure is None
            await edges(self.dut.clk, STEP)
        exact = COMBINE[operation].reduce(numbers.astype(np.int64))
        result = Total(operation, exact).clamped
        for worker in self.workers:
            assert np.array_equal(worker.result, result)

    def shares(self) -> tuple[float, float]:
        """Return the shares of the line's time in which numbers are sent, and in which they come.

        Each is the least of all hosts, over the middle half of its frames with numbers, which all
        have the length of the first, and of which none was lost.
        """
        first = self.workers[0]
        size = NUMBER.itemsize * first.length
        beats = -(-wire_bytes(first.length) // 64)
        sent = [source.cycles[beats - 1 : beats * first.parts : beats] for source in self.sources]
        whole = [
            [packet for packet in sink.packets if len(packet.octets) > size] for sink in self.sinks
        ]
        came = [[packet.cycles[-1] for packet in packets] for packets in whole]
        return min(share(cycles, size) for cycles in sent), min(
            share(cycles, size) for cycles in came
        )


def share(cycles: Sequence[int], size: int) -> float:
    """Return which share of the line's bytes frames have, of ``size`` bytes at these cycles."""
    begin, end = len(cycles) // 4, 3 * len(cycles) // 4
    return (end - begin) * size / (int(cycles[end]) - int(cycles[begin])) / LINE_BYTES
