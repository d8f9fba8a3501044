"""The requester on a block and a root complex that others wrote: cocotbext-pcie."""

import logging
import random

import cocotb
import pytest
from cocotb.triggers import RisingEdge
from cocotbext.axi.stream import define_stream
from cocotbext.pcie.core import RootComplex
from cocotbext.pcie.xilinx.us import UltraScalePlusPcieDevice

from hdl.pcie.params import ReadRequesterParams
from hdl.pcie.read_requester import ReadRequester
from sim.golden.pcie_requester import Cause, cut
from sim.harness.streams import Sink, Source, never, often
from sim.harness.verilator import params_in_simulator, simulate

SIZES = [
    ReadRequesterParams(),
    ReadRequesterParams(data_bits=256, tags=32, max_read=256),
]
MEMORY = 1 << 16  #: bytes
Bus, *_ = define_stream("Pcie", signals=["tvalid", "tready", "tdata", "tkeep", "tlast", "tuser"])


@pytest.mark.parametrize("params", SIZES, ids=lambda params: params.suffix)
def test_read_requester_on_model(params):
    simulate(ReadRequester(params), __name__)


class Card:
    """A card with the requester in a slot of a root complex, whose memory has random bytes."""

    def __init__(self, dut, stall):
        self.dut, self.params = dut, params_in_simulator(ReadRequesterParams)
        wide = self.params.data_bits == 512
        for name in ("requests_valid", "beats_ready", "tick", "stop"):
            getattr(dut, name).value = 0
        self.device = UltraScalePlusPcieDevice(
            pcie_generation=3,
            pcie_link_width=16 if wide else 8,
            user_clk_frequency=250e6,
            rc_straddle=True,
            rc_4tlp_straddle=wide,
            max_payload_size=1024,
            enable_extended_tag=True,
            user_clk=dut.clk,
            user_reset=dut.rst,
            rq_bus=Bus.from_prefix(dut, "rq"),
            rc_bus=Bus.from_prefix(dut, "rc"),
        )
        self.root = RootComplex()
        for log in (self.device.log, self.root.log, *loggers("rq", "rc")):
            log.setLevel(logging.ERROR)
        self.root.make_port().connect(self.device)
        self.memory = self.root.mem_pool.alloc_region(MEMORY)
        self.base = self.memory.get_absolute_address(0)
        self.bytes = random.randbytes(MEMORY)
        self.memory.mem[:] = self.bytes
        self.requests = Source(dut, "requests")
        self.beats = Sink(dut, "beats", stall=stall)
        self.wanted = []

    async def begin(self, read_size, payload):
        """Let the host set the device up; sizes are codes: 128 bytes << code."""
        root = self.root
        root.max_read_request_size, root.max_payload_size_supported = read_size, payload
        self.dut.limit.value = read_size
        await RisingEdge(self.dut.rst)
        while self.dut.rst.value:
            await RisingEdge(self.dut.clk)
        await root.enumerate()
        await root.find_device(self.device.functions[0].pcie_id).set_master()

    def ask(self, address, size):
        self.requests.append({"address": address, "bytes": size, "user": len(self.wanted) % 256})
        self.wanted.append((address, size))

    async def finish(self):
        """Every request is answered: its bytes, or none of them and a cause."""
        while sum(beat["last"] for beat in self.beats.beats) < len(self.wanted):
            await RisingEdge(self.dut.clk)
        causes, beats = [], iter(self.beats.beats)
        for k, (address, size) in enumerate(self.wanted):
            data, last = b"", False
            while not last:
                beat = next(beats)
                assert beat["user"] == k % 256
                data += beat["data"].to_bytes(self.params.data_bits // 8, "little")[: beat["bytes"]]
                last = beat["last"]
            assert len(data) == size
            causes.append(Cause(int(beat["cause"].value)))
            if not causes[-1]:
                assert data == self.bytes[address - self.base :][:size]
        return causes


def loggers(*names):
    """Those of streams, under whatever the design is called."""
    known = logging.root.manager.loggerDict
    return [logging.getLogger(one) for one in known if one.rpartition(".")[2] in names]


@cocotb.test(timeout_time=100, timeout_unit="us")
@cocotb.parametrize(
    (
        ("read_size", "payload", "rcb", "all_boundaries", "stall"),
        [
            (2, 1, False, False, never),
            (2, 0, False, True, never),
            (1, 0, True, True, often),
            (0, 2, True, False, often),
        ],
    )
)
async def every_byte_that_the_host_has(dut, read_size, payload, rcb, all_boundaries, stall):
    """Of sizes and places around pages, at each of the host's limits; every read is sent once."""
    card = Card(dut, stall)
    await card.begin(read_size, payload)
    card.root.read_completion_boundary, card.root.split_on_all_rcb = rcb, all_boundaries
    most = min(128 << read_size, card.params.max_read)
    reads = sent = 0
    for k in range(20):
        size = random.choice([random.randrange(1, 80), random.randrange(1, 1500), 1028, 64])
        size = size if k else 4096
        offset = 4 * random.randrange((MEMORY - size) // 4)
        card.ask(card.base + offset, size)
        reads += len(cut(card.base + offset, size, most))
    done = cocotb.start_soon(card.finish())
    while not done.done():
        await RisingEdge(dut.clk)
        sent += int(dut.rq_tvalid.value) & int(dut.rq_tready.value)
    assert done.result() == [Cause.NONE] * len(card.wanted)
    assert sent == reads


@cocotb.test(timeout_time=100, timeout_unit="us")
async def where_the_host_has_no_memory(dut):
    """Such reads are answered as unsupported, those between them as always."""
    card = Card(dut, never)
    await card.begin(2, 1)
    nowhere = [k % 3 == 1 for k in range(12)]
    for missing in nowhere:
        offset, size = 4 * random.randrange(1000), random.randrange(1, 1500)
        card.ask(card.base + offset + missing * (1 << 40), size)
    assert await card.finish() == [Cause.UNSUPPORTED if one else Cause.NONE for one in nowhere]
    await RisingEdge(dut.clk)
    assert not dut.owes.value
