import random

import cocotb

from hdl.vitis.base_address import BaseAddress, BaseAddressParams
from sim.harness.bench import Bench
from sim.harness.streams import STALLS, crossed
from tests.rejects import rejects
from tests.simulated import simulated

SIZES = [
    BaseAddressParams(address_bits=28, reads=True),
    BaseAddressParams(address_bits=15, reads=True, writes=True),
]
LEAVE = {"r": ("i_ar", "o_ar"), "w": ("i_aw", "o_aw")}

test_base_address = simulated(BaseAddress, SIZES, __name__)
test_rejects = rejects(
    BaseAddressParams, ({"address_bits": 28}, "a manager must have reads or writes")
)


class AddressBench(Bench):
    """Has all channels, and what each gives of what comes."""

    def __init__(self, dut):
        super().__init__(dut)
        self.channels = ["ar"] * self.params.reads + ["aw", "w"] * self.params.writes
        self.back = ["r"] * self.params.reads + ["b"] * self.params.writes
        self.names = [
            *((f"i_{c}", f"o_{c}") for c in self.channels),
            *((f"o_{c}", f"i_{c}") for c in self.back),
        ]
        for name in sum(self.names, ()):
            getattr(self, name)

    def some(self, channel):
        """Draw a beat of a channel."""
        beat = {"id": random.getrandbits(1)}
        if channel[0] == "a":
            beat |= {
                "addr": random.getrandbits(self.params.address_bits),
                "len": random.randrange(256),
            }
            return beat | {"size": random.randrange(8), "burst": random.randrange(3)}
        data = {"data": random.getrandbits(256)}
        if channel == "w":
            return data | {"strb": random.getrandbits(32), "last": random.getrandbits(1)}
        beat["resp"] = random.randrange(4)
        return beat | (data | {"last": random.getrandbits(1)} if channel == "r" else {})

    def draw(self, count, page):
        """Draw what comes in all channels, and return it with what leaves."""
        provided, expected = {}, {}
        for into, out in self.names:
            channel = into.partition("_")[2]
            provided[into] = [self.some(channel) for _ in range(count)]
            expected[out] = [dict(beat) for beat in provided[into]]
            for beat in expected[out] if channel[0] == "a" else ():
                beat["addr"] = (beat["addr"] + (page << 12)) % (1 << 64)
        return provided, expected


@crossed(stalls=STALLS, us=100)
async def addresses_rise_and_all_else_stays(dut, stalls):
    bench = await AddressBench(dut).begin()
    for page in (0, 1, (1 << 52) - 1, random.getrandbits(52)):
        bench.set(page=page)
        await bench.exchange(*bench.draw(60, page), stalls)
        if stalls.absent:
            for into, out in bench.names:
                source, sink = getattr(bench, into), getattr(bench, out)
                latency = BaseAddress.latency if into[0] == "i" else 0
                assert source.cycles == list(range(source.cycles[0], source.cycles[0] + 60))
                assert sink.cycles == [at + latency for at in source.cycles]


@cocotb.test(timeout_time=10, timeout_unit="us")
async def a_burst_that_waits_keeps_its_base(dut):
    bench = AddressBench(dut)
    for sink in bench.sinks:
        sink.stall = lambda: True
    await bench.begin()
    bench.set(page=5)
    bench.i_ar.extend([{"addr": 64}])
    await bench.wait(3)
    bench.set(page=9)
    await bench.wait(3)
    assert dut.o_arvalid.value
    assert int(dut.o_araddr.value) == (5 << 12) + 64
