import random

import cocotb

from hdl.netsparse.protocol import PACKET_CONSTANTS, PACKET_HEADER, Kind
from hdl.u280.kind_split import READS, RESPONSES, KindSplit
from sim.harness.records import Recorder
from sim.harness.streams import edges, never, often, start
from sim.harness.verilator import simulate
from tests.hdl.u280.packet_bench import Taker, send

CLASSES = {Kind.READ: READS, Kind.RESPONSE: RESPONSES, Kind.ERROR: RESPONSES}


def test_kind_split():
    simulate(KindSplit(), __name__)


def header(kind, **changes):
    """Return the first 64 bytes of a packet."""
    upper = PACKET_CONSTANTS | {"destination_mac": random.getrandbits(48)} | changes
    fields = {"concatenation": {"type": kind, "dest": random.getrandbits(32)}, "upper": upper}
    return PACKET_HEADER.const(fields).as_bits().to_bytes(64, "big")


def random_packet():
    """Draw a packet; return it and its class, which is None if it has none."""
    what = random.choice([*Kind, "type", "length", *PACKET_CONSTANTS])
    if what in CLASSES:
        return header(what.value) + random.randbytes(random.randrange(300)), CLASSES[what]
    if what == "type":
        return header(random.choice([0, 4, 257])) + random.randbytes(100), None
    if what == "length":
        return header(Kind.READ.value)[: random.randrange(1, 64)], None
    return header(Kind.READ.value, **{what: PACKET_CONSTANTS[what] ^ 1}) + bytes(70), None


@cocotb.test(timeout_time=100, timeout_unit="us")
@cocotb.parametrize(stall=[never, often])
async def every_packet_goes_to_its_class(dut, stall):
    await start(dut)
    chosen = [random_packet() for _ in range(200)]
    broken = set(random.sample(range(200), 30))
    takers, foreign = [Taker(dut, f"o_{k}") for k in range(2)], Recorder(dut, "foreign", {})
    await send(dut, "mac", [p for p, _ in chosen], stall=stall, broken=broken, waits=False)
    await edges(dut.clk, 3)
    for k, taker in enumerate(takers):
        ends = [bool(beat["tuser"]) for beat in taker.beats if beat["tlast"]]
        assert [*zip(taker.packets(), ends, strict=True)] == [
            (packet, number in broken) for number, (packet, kind) in enumerate(chosen) if kind == k
        ]
    assert not set(takers[0].cycles) & set(takers[1].cycles)
    assert len(foreign.cycles) == sum(kind is None for _, kind in chosen)
