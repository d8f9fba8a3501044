import random
from functools import partial

import cocotb
from cocotb.triggers import RisingEdge

from hdl.common.axi import Burst
from hdl.common.burst_beats import BurstBeats, BurstBeatsParams
from sim.harness.verilator import params_in_simulator
from tests.hdl.common.upset import start_upset
from tests.hdl.contracts import contracts
from tests.rejects import rejects
from tests.simulated import simulated

test_burst_beats = simulated(
    BurstBeats,
    [
        BurstBeatsParams(address_bits=23, data_bits=256, id_bits=4),
        BurstBeatsParams(address_bits=12, data_bits=16, id_bits=0),
    ],
    __name__,
)


test_rejects = rejects(
    partial(BurstBeatsParams, data_bits=256, id_bits=1),
    ({"address_bits": 5}, "address_bits must be a whole number from 6 to 64: 5"),
)


def random_address(params):
    """Draw any address, half of the time shortly before a multiple of a power of two."""
    reach = 1 << random.randrange(params.offset_bits, params.address_bits)
    address = random.getrandbits(params.address_bits)
    if random.getrandbits(1):
        return address
    return (address // reach * reach - random.randrange(20) * params.data_bits // 8) % (
        1 << params.address_bits
    )


def random_burst(params):
    identifier = {"id": random.getrandbits(params.id_bits)} if params.id_bits else {}
    return identifier | {
        "addr": random_address(params),
        "len": random.choice([0, 0, 1, 2, 15, 255, random.randrange(256)]),
        "size": random.choice([params.offset_bits] * 4 + [*range(8)]),
        "burst": random.choice([Burst.INCR] * 3 + [Burst.FIXED, Burst.WRAP]),
    }


def expected_beats(params, burst):
    """Return one beat after the other from the address, with the last one marked."""
    plain = burst["burst"] == Burst.INCR and burst["size"] == params.offset_bits
    mask = (1 << params.index_bits) - 1
    return [
        {name: burst[name] for name in params.identifier}
        | {
            "index": (burst["addr"] >> params.offset_bits) + k & mask,
            "last": int(k == burst["len"]),
            "plain": int(plain),
        }
        for k in range(burst["len"] + 1)
    ]


async def takes_a_burst_when_there_is_none(dut):
    while True:
        await RisingEdge(dut.clk)
        assert dut.beats_valid.value or dut.bursts_ready.value


def draw(count):
    params = params_in_simulator(BurstBeatsParams)
    bursts = [random_burst(params) for _ in range(count)]
    bursts[-1]["addr"] = 0
    return bursts, [beat for burst in bursts for beat in expected_beats(params, burst)]


def pace(sent, left, latency):
    assert left == list(range(sent[0] + latency, sent[0] + latency + len(left)))


async def begin(dut):
    await start_upset(dut)
    cocotb.start_soon(takes_a_burst_when_there_is_none(dut))


keeps_order, takes_its_latency, a_reset_empties_it = contracts(
    __name__, draw, pace=pace, begin=begin, count=40
)
