import random

import pytest
from amaranth.hdl import Module, Signal
from amaranth.sim import Simulator

from hdl.common.packets import AXIS, BEAT_BYTES, in_lanes
from hdl.netsparse.protocol import (
    CONCATENATION_LAYER,
    IP_OFFSET,
    LENGTH_BITS,
    MAX_PROPERTY_BYTES,
    PACKET_CONSTANTS,
    PACKET_HEADER,
    PACKET_HEADER_BYTES,
    PR_BYTES,
    PR_LAYER,
    READ_PR,
    RESPONSE_BEAT,
    UDP_OFFSET,
    UPPER_BYTES,
    UPPER_LAYERS,
    Kind,
)
from sim.harness.payloads import pack, unpack
from tests.tables import places

#: Bytes of each field from the packet's first (Ethernet, RFC 791, RFC 768, NetSparse figure 6).
PLACES = places(
    """
    destination_mac 0 6, source_mac 6 6, ethertype 12 2, version_ihl 14 1, dscp_ecn 15 1,
    total_length 16 2, identification 18 2, flags_fragment 20 2, ttl 22 1, protocol 23 1,
    ip_checksum 24 2, source_ip 26 4, destination_ip 30 4, source_port 34 2, destination_port 36 2,
    udp_length 38 2, udp_checksum 40 2, reserved 42 8, type 50 2, dest 52 4, len 56 4, prs 60 4
    """
)
PR_PLACES = {"src": (0, 4), "tid": (4, 2), "idx": (6, 8), "id": (14, 4)}


def places_in(layout, first=0):
    """Return each field's first byte on the wire, and how many it has."""
    return {
        name: (first + (layout.size - field.offset - field.width) // 8, field.width // 8)
        for name, field in layout
    }


def test_every_field_has_its_place():
    both = places_in(UPPER_LAYERS) | places_in(CONCATENATION_LAYER, UPPER_BYTES)
    assert both == PLACES
    assert places_in(PR_LAYER) == PR_PLACES
    assert (UPPER_BYTES, PACKET_HEADER_BYTES, PR_BYTES, BEAT_BYTES) == (50, 64, 18, 64)
    assert PLACES["version_ihl"][0] == IP_OFFSET
    assert PLACES["source_port"][0] == UDP_OFFSET
    assert AXIS.data_bits == 8 * PACKET_HEADER_BYTES


@pytest.mark.parametrize("layout", [UPPER_LAYERS, CONCATENATION_LAYER, PR_LAYER])
def test_fields_are_big_endian(layout):
    rng = random.Random(layout.size)
    octets = rng.randbytes(layout.size // 8)
    fields = unpack(layout, int.from_bytes(octets, "big"))
    for name, (at, size) in places_in(layout).items():
        assert fields[name] == int.from_bytes(octets[at : at + size], "big")


def test_the_whole_header():
    """The upper layers come first on the wire."""
    octets = random.Random(1).randbytes(64)
    header = unpack(PACKET_HEADER, int.from_bytes(octets, "big"))
    for name, (at, size) in PLACES.items():
        layer = header["upper"] if at < UPPER_BYTES else header["concatenation"]
        assert layer[name] == int.from_bytes(octets[at : at + size], "big")


def test_constants_are_fields():
    assert set(PACKET_CONSTANTS) < set(UPPER_LAYERS.members)
    assert pack(UPPER_LAYERS, PACKET_CONSTANTS)


def test_lanes_reverse_bytes():
    rng = random.Random(2)
    header = Signal(PR_LAYER)

    async def compare(context):
        for _ in range(20):
            octets = rng.randbytes(PR_BYTES)
            context.set(header.as_value(), int.from_bytes(octets, "big"))
            assert context.get(in_lanes(header.as_value())) == int.from_bytes(octets, "little")

    module = Module()
    module.d.comb += Signal(8).eq(in_lanes(header.as_value()))
    simulator = Simulator(module)
    simulator.add_testbench(compare)
    simulator.run()


def test_kinds():
    assert {kind.name: kind.value for kind in Kind} == {"READ": 1, "RESPONSE": 2, "ERROR": 3}


def test_prs_inside():
    """Both begin alike, and every legal length fits."""
    assert [*READ_PR.members] == ["dest", "length", "pr"]
    assert [*RESPONSE_BEAT.members] == ["dest", "length", "pr", "error", "last", "data"]
    assert all(READ_PR[name] == RESPONSE_BEAT[name] for name in READ_PR.members)
    assert MAX_PROPERTY_BYTES < 1 << LENGTH_BITS
    assert RESPONSE_BEAT["data"].width == 8 * BEAT_BYTES
