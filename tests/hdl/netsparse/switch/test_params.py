from pathlib import Path

import pytest

from hdl.netsparse.switch import switch
from hdl.netsparse.switch.params import NetSparseSwitchParams
from tests.hdl.netsparse.switch.bench import LARGEST, SPINE, TOR
from tests.rejects import rejects

test_rejects = rejects(
    NetSparseSwitchParams,
    ({"pipes": 3}, "pipes must be 0 or divide the 32 ports: 3"),
    (
        {"pipes": 0, "most_property_bytes": 1420},
        "most_property_bytes must be a whole number from 4 to 1416: 1420",
    ),
    (
        {"output_beats": 128},
        "output_beats must be at least 790, a power of two, for packets of 1500 bytes: 128",
    ),
    match="^({})$",
)


def test_what_has_no_middle_pipes_needs_no_room():
    assert NetSparseSwitchParams(pipes=0, output_beats=1).suffix == "32x0_n128_m1500_p512"


def beats_of(bytes_):
    """Return the beats of a packet."""
    return -(-bytes_ // 64)


@pytest.mark.parametrize("params", [TOR, NetSparseSwitchParams(), LARGEST], ids=lambda p: p.suffix)
def test_room_of_a_packet_is_that_of_its_prs_alone(params):
    """All packets that there may be are tried."""
    reads = [count * beats_of(64 + 18) for count in range((params.mtu - 64) // 18 + 1)]
    assert params.room_of_packet(False) == max(reads)
    responses = [
        count * beats_of(64 + 18 + length)
        for length in range(4, params.most_property_bytes + 1, 4)
        for count in range((params.mtu - 64) // (18 + length) + 1)
    ]
    assert params.room_of_packet(True) == max(responses) >= beats_of(64 + 18)  # an error's


def test_room_is_counted_where_packets_go():
    """Reads go to a pipe's ports, responses and errors to all; a hit may have any length."""
    reads, responses = (TOR.output_room(payload) for payload in (False, True))
    assert (reads.ports, responses.ports) == (2, 4)
    assert (reads.packet, responses.packet) == (TOR.room_of_packet(False), TOR.room_of_packet(True))
    assert (reads.item, responses.item) == (0, beats_of(64 + 18 + TOR.most_property_bytes))
    assert reads.beats == responses.beats == TOR.output_beats
    # a verdict, an entry and a lookup may give back in one cycle
    assert reads.gives == responses.gives == 3


def test_numbers_of_ports():
    assert TOR.pipe_ports == 2
    assert TOR.packet_beats == beats_of(TOR.mtu)
    assert SPINE.suffix != TOR.suffix


def test_the_page_says_how_long_it_takes():
    page = Path(switch.__file__).with_name("README.md").read_text()
    result = switch.NetSparseSwitch(NetSparseSwitchParams()).latencies
    spine = switch.NetSparseSwitch(NetSparseSwitchParams(pipes=0)).latencies
    rows = (
        f"| {result['response']} | a response |",
        f"| {result['read']}, {result['hit']} | a read that passes; one that is answered |",
        f"| {spine['read']} | any beat, in the spine form |",
    )
    assert all(row in page for row in rows), rows
