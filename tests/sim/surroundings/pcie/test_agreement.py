"""Compares the simulated host with the one that others wrote: cocotbext-pcie's.

Two requesters do the same work, each on a host of its own. Packets are the same, one by one; cycles
are so within five percent, of which their link takes one to keep itself up.
"""

import random

import cocotb
import pytest
from amaranth.lib.wiring import In, connect, flipped
from cocotb.triggers import RisingEdge

from hdl.common.component import Component
from hdl.pcie.axis import rc_user
from hdl.pcie.params import ReadRequesterParams
from hdl.pcie.requester import Requester, RequesterParams
from hdl.pcie.write_params import WriteRequesterParams
from sim.golden.pcie_requester import cut
from sim.golden.pcie_writes import writes
from sim.harness.payloads import pack, unpack
from sim.harness.streams import Sink, Source, crossed, cycle
from sim.harness.verilator import params_in_simulator, simulate
from sim.surroundings.pcie.host import PcieHost
from sim.surroundings.pcie.params import (
    COUNTS,
    HOST_ARRAY,
    Split,
    host_file,
    pcie_host_settings,
)
from sim.surroundings.pcie_host import HostModel
from tests.hdl.pcie.requester_on_host import RequesterOnHostParams
from tests.hdl.pcie.rq_monitor import beats_of

SIZE = 1 << 16  #: bytes of host memory, of which writes take the upper half
MAX_APART = 0.05
PATH = 740e-9  #: seconds on their link, each way
LATENCY = 383  #: cycles of ours: both ways, and what requests take
HOSTS = ("ours", "theirs")


class TwoHosts(Component):
    """Has two requesters: one on a simulated host, the other with ports for another host."""

    def __init__(self, params):
        members = Requester(params.requester).signature.members
        both = ("requests", "beats", "writes", "data", "sent", "idle")
        host = PcieHost(params.host).signature.members
        super().__init__(
            params,
            **{f"{name}_{port}": members[port] for name in HOSTS for port in both},
            limits=members["limits"],
            numbers=members["numbers"],
            rq=members["rq"],
            rc=members["rc"],
            settings=host["settings"],
            counts=host["counts"],
            index=In(8),
        )

    def build(self, m):
        for name in HOSTS:
            m.submodules[name] = requester = Requester(self.params.requester)
            for port in ("requests", "writes", "data"):
                connect(m, flipped(getattr(self, f"{name}_{port}")), getattr(requester, port))
            connect(m, requester.beats, flipped(getattr(self, f"{name}_beats")))
            m.d.comb += [
                getattr(self, f"{name}_sent").eq(requester.sent),
                getattr(self, f"{name}_idle").eq(requester.idle),
                requester.limits.eq(self.limits),
                requester.credits.eq(15),
            ]
            if name == "ours":
                m.submodules.host = host = PcieHost(self.params.host)
                connect(m, requester.rq, host.rq)
                connect(m, host.rc, requester.rc)
                m.d.comb += [
                    host.settings.eq(self.settings),
                    host.index.eq(self.index),
                    self.counts.eq(host.counts),
                    requester.numbers.eq(host.numbers),
                ]
            else:
                connect(m, requester.rq, flipped(self.rq))
                connect(m, flipped(self.rc), requester.rc)
                m.d.comb += requester.numbers.eq(self.numbers)


SIZES = [
    RequesterOnHostParams(),
    RequesterOnHostParams(
        requester=RequesterParams(
            reads=ReadRequesterParams(data_bits=256), writes=WriteRequesterParams(data_bits=256)
        )
    ),
]


@pytest.mark.parametrize("params", SIZES, ids=lambda params: params.suffix)
def test_agreement(params, tmp_path, rng):
    content = tmp_path / "content.bin"
    content.write_bytes(rng.bytes(SIZE))
    simulate(
        TwoHosts(params),
        __name__,
        extra_sources=[HOST_ARRAY],
        plusargs=[host_file(0, content)],
    )


class Side:
    """Has a requester with its work and its host."""

    def __init__(self, dut, name):
        self.dut, self.name = dut, name
        self.requests = Source(dut, f"{name}_requests")
        self.beats = Sink(dut, f"{name}_beats")
        self.writes, self.data = Source(dut, f"{name}_writes"), Source(dut, f"{name}_data")
        self.sent = 0
        self.ended = 0  # cycle in which the last answer came, or the last write went
        cocotb.start_soon(self.watch())

    async def watch(self):
        dut, sent = self.dut, getattr(self.dut, f"{self.name}_sent")
        while True:
            await RisingEdge(dut.clk)
            self.sent += int(sent.value) & 1

    async def work(self, base, reads, writes):
        """Do everything; return the cycles that it took."""
        before, sent, begin = len(self.beats.beats), self.sent, cycle()
        for address, size in reads:
            self.requests.append({"address": base + address, "bytes": size, "user": 0})
        for address, payload in writes:
            self.writes.append({"address": base + address, "bytes": len(payload), "user": 0})
            for beat in beats_of(payload, len(getattr(self.dut, f"{HOSTS[0]}_data_payload")) // 8):
                self.data.append(beat)
        while sum(beat["last"] for beat in self.beats.beats[before:]) < len(
            reads
        ) or self.sent - sent < len(writes):
            await RisingEdge(self.dut.clk)
        assert not any(beat["cause"].value for beat in self.beats.beats[before:])
        return cycle() - begin


class Wires:
    """Counts the packets of the host that others wrote, by the wires of RQ and RC."""

    def __init__(self, dut):
        self.dut, self.requests, self.completions = dut, 0, 0
        self.user = rc_user(len(dut.rc_tdata))
        cocotb.start_soon(self.watch())

    async def watch(self):
        dut = self.dut
        while True:
            await RisingEdge(dut.clk)
            if dut.rq_tvalid.value and dut.rq_tready.value:
                self.requests += int(dut.rq_tlast.value)
            if dut.rc_tvalid.value and dut.rc_tready.value:
                starts = unpack(self.user, int(dut.rc_tuser.value))["starts"]
                self.completions += starts.bit_count()


def some_reads(count, sizes):
    result = []
    for _ in range(count):
        size = random.choice(sizes)
        result.append((4 * random.randrange((SIZE // 2 - size) // 4), size))
    return result


#: sizes of reads and of writes, how many, and how the host divides its answers
WORK = {
    "large reads": ([512, 1028, 4096], [], 30, {"boundary": 0, "split": Split.LARGEST}),
    "small reads": ([4, 64, 100, 512], [], 150, {"boundary": 0, "split": Split.EVERY}),
    "writes": ([], [1, 64, 300, 1028], 30, {"boundary": 0, "split": Split.LARGEST}),
    "both": ([64, 700, 1028], [64, 700, 1028], 40, {"boundary": 1, "split": Split.EVERY}),
}


@crossed(work=list(WORK), us=400)
async def packets_and_cycles(dut, work):
    """There are as many packets of each kind, in as many cycles."""
    params = params_in_simulator(RequesterOnHostParams)
    read_sizes, write_sizes, count, path = WORK[work]
    limits = {"read": 2, "payload": 1}
    dut.limits.value = pack(Requester(params.requester).limits.shape(), limits)
    dut.index.value = 0
    settings = {
        "latency": LATENCY,
        "payload": limits["payload"],
        "boundary": path["boundary"],
        "split": path["split"].value,
    }
    dut.settings.value = pack(params.host.settings, pcie_host_settings(params.host, **settings))
    sides = [Side(dut, name) for name in HOSTS]
    model, wires = HostModel(dut, "rq", "rc", roomy=True, max_payload_size=1024), Wires(dut)
    model.root.read_completion_boundary = bool(path["boundary"])
    model.root.split_on_all_rcb = path["split"] is Split.EVERY
    _, base = model.memory(bytes(SIZE))
    await model.begin(limits["read"], limits["payload"])
    for _ in range(2 * params.requester.reads.tags):  # which are cleared
        await RisingEdge(dut.clk)
    model.move_away(PATH)
    reads = some_reads(count, read_sizes) if read_sizes else []
    written = [
        (SIZE // 2 + place, random.randbytes(size))
        for place, size in (some_reads(count, write_sizes) if write_sizes else [])
    ]
    begun = [
        cocotb.start_soon(side.work(at, reads, written))
        for side, at in zip(sides, (0, base), strict=True)
    ]
    cycles = [await item for item in begun]
    await RisingEdge(dut.clk)  # what the last beat counts
    counts = unpack(COUNTS, int(dut.counts.value))
    assert counts["reads"] == sum(len(cut(address, size, 512)) for address, size in reads)
    packets = sum(len(writes_of(*item)) for item in written)
    assert counts["writes"] == packets
    assert counts["reads"] + counts["writes"] == wires.requests
    assert counts["completions"] == wires.completions
    assert abs(cycles[0] / cycles[1] - 1) < MAX_APART, cycles


def writes_of(address, payload):
    return writes(address, payload, 256)
