"""Every packet goes to the part of the switch that its protocol says, or to others."""

import random

from hdl.netsparse.kind_split import CLASSES as PROPERTIES
from hdl.netsparse.protocol import Kind
from hdl.p4sgd.network.frame import FRAMES
from hdl.switch.classifier import Classifier, ClassifierParams
from hdl.switch.tenancy_head import TENANCY_FRAMES
from hdl.switchgnn.protocol import frame_format
from sim.harness.records import Recorder
from sim.harness.streams import crossed, edges, never, often, start
from sim.harness.verilator import simulate
from tests.hdl.u280.packet_bench import Taker, header, send

STREAMS = ((FRAMES, TENANCY_FRAMES), (frame_format(128),), *((kind,) for kind in PROPERTIES))
OWN, ELSE, FOREIGN = bytes.fromhex("02a0b0c0d000"), len(STREAMS), len(STREAMS) + 1
OTHER = bytes.fromhex("02a0b0c0d001")
SIZES = (5, 6, 14, 15, 16, 60, 64, 65, 300)


def test_classifier():
    simulate(Classifier(ClassifierParams(streams=STREAMS)), __name__)


def draw():
    """Return a packet and the output that it goes to."""
    if random.random() < 0.2:
        packet, to = random.choice([(Kind.READ, 2), (Kind.RESPONSE, 3), (Kind.ERROR, 3)])
        return header(packet.value) + random.randbytes(random.randrange(200)), to
    destination, size = random.choice([OWN, OWN, OTHER]), random.choice(SIZES)
    ethertype, version = random.choice([(0x88B5, 2), (0x88B5, 4), (0x0800, 2), (0x88B4, 2)])
    kind = random.choice([0, 3, 4, 15, 16, 31, 32, 255])
    octets = destination + random.randbytes(6) + ethertype.to_bytes(2, "big")
    octets = (octets + bytes([version, kind]) + random.randbytes(size))[:size]
    return octets, output_of(octets)


def output_of(octets):
    """Return where a packet goes that is none of NetSparse's, by the bytes that it has."""
    if octets[:6] != OWN:
        return ELSE
    kind = octets[15] if octets[12:15] == b"\x88\xb5\x02" and len(octets) > 15 else 16
    return 0 if kind < 4 or kind >= 32 else 1 if kind < 16 else FOREIGN


@crossed(stall=[never, often], closed=[0, 1], us=100)
async def every_packet_goes_where_its_protocol_says(dut, stall, closed):
    """While the port is closed, all go to the last output."""
    dut.closed.value = closed
    dut.address.value = int.from_bytes(OWN, "little")
    await start(dut)
    sent = [(octets, ELSE if closed else to) for octets, to in (draw() for _ in range(400))]
    takers = [Taker(dut, f"o_{k}") for k in range(ELSE + 1)]
    foreign = Recorder(dut, "foreign", {})
    broken = set(random.sample(range(400), 50))
    await send(dut, "mac", [packet for packet, _ in sent], stall=stall, broken=broken, waits=False)
    await edges(dut.clk, 3)
    for k, taker in enumerate(takers):
        ends = [bool(beat["tuser"]) for beat in taker.beats if beat["tlast"]]
        assert [*zip(taker.packets(), ends, strict=True)] == [
            (packet, number in broken) for number, (packet, to) in enumerate(sent) if to == k
        ]
    assert {to for _, to in sent} == ({ELSE} if closed else {*range(FOREIGN + 1)})
    assert len(foreign.cycles) == sum(to == FOREIGN for _, to in sent)
