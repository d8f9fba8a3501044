import random
import re
from dataclasses import replace

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.utils import rdpcap

from hdl.netsparse.protocol import Kind
from sim.netsparse.golden import concatenation as golden
from sim.netsparse.wire import Addresses, Packet, Pr, from_beats, ip_checksum, max_prs, to_beats
from tests.sim.netsparse.scapy_layer import PORT, ConcatenationLayer, PrLayer, dissect, write_pcap

ADDRESSES = Addresses(
    destination_mac=0x020000000001,
    source_mac=0x020000000002,
    source_ip=0x0A000002,
    destination_ip=0x0A000001,
)


def random_packet(rng, kind=None, length=None, count=None):
    kind = kind or rng.choice(list(Kind))
    length = length or 4 * rng.randint(1, 128)
    count = count or rng.randint(1, max_prs(kind, length))
    dest = rng.getrandbits(32)
    return Packet.drawn(
        rng.getrandbits, count, kind=kind, dest=dest, length=length, addresses=ADDRESSES
    )


def test_bytes_of_a_response():
    """The response is written by hand, byte for byte."""
    pr = Pr(src=0x01020304, tid=0x0506, idx=0x0708090A0B0C0D0E, id=0x0F101112, payload=b"abcd")
    packet = Packet(kind=Kind.RESPONSE, dest=9, length=4, prs=(pr,), addresses=ADDRESSES)
    assert packet.to_bytes().hex(" ", 2) == (
        "0200 0000 0001 0200 0000 0002 0800 4580 0048 0000 4000 4011 2623 0a00 0002 0a00 0001"
        " 4e53 4e53 0034 0000 0000 0000 0000 0000"
        " 0002 0000 0009 0000 0004 0000 0001"
        " 0102 0304 0506 0708 090a 0b0c 0d0e 0f10 1112 6162 6364"
    )


def test_there_and_back():
    rng = random.Random(1)
    for _ in range(200):
        packet = random_packet(rng)
        octets = packet.to_bytes()
        assert len(octets) == packet.size <= 1500
        assert ip_checksum(octets[14:34]) == 0
        assert Packet.from_bytes(octets) == packet
        assert from_beats(to_beats(octets)) == octets


def test_what_a_concatenator_sends_is_such_a_packet():
    rng = random.Random(3)
    for _ in range(50):
        packet = random_packet(rng)
        packet = replace(packet, dest=packet.dest >> 16)
        node = rng.getrandbits(16)
        bases = golden.Addresses(mac_base=0x02000000 << 16, ip_base=10 << 24)
        requests = [
            golden.Request(
                **{name: getattr(pr, name) for name in ("src", "tid", "idx", "id")},
                kind=golden.Kind(packet.kind.value),
                dest=packet.dest,
                length=packet.length,
                data=pr.payload,
            )
            for pr in packet.prs
        ]
        parsed = Packet.from_bytes(golden.to_bytes(requests, node, bases))
        assert parsed == replace(packet, addresses=parsed.addresses)
        assert parsed.addresses.source_mac == bases.mac_base + node


def test_most_prs():
    """The counts are the specification's, and one more is over the MTU."""
    assert max_prs(Kind.READ, 512) == 79
    assert [max_prs(Kind.RESPONSE, size) for size in (4, 16, 64, 512)] == [65, 42, 17, 2]
    rng = random.Random(2)
    for kind, length in ((Kind.READ, 4), (Kind.RESPONSE, 4), (Kind.RESPONSE, 512)):
        most = max_prs(kind, length)
        assert random_packet(rng, kind, length, most).size <= 1500
        assert random_packet(rng, kind, length, most + 1).size > 1500


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"prs": ()}, "a packet has at least one PR"),
        ({"kind": Kind.ERROR}, "an error packet has one PR: 2"),
        ({"length": 6}, "length must be a multiple of 4 from 4 to 4096 bytes: 6"),
        ({"length": 0}, "from 4 to 4096 bytes: 0"),
        ({"length": 4100}, "from 4 to 4096 bytes: 4100"),
        ({"kind": Kind.RESPONSE}, "each PR of this packet has 8 bytes of property: 0"),
    ],
)
def test_rejects(changes, message):
    packet = random_packet(random.Random(3), Kind.READ, 8, 2)
    with pytest.raises(ValueError, match=re.escape(message)):
        replace(packet, **changes)


@pytest.mark.parametrize(
    "changes", [{"dest": 1 << 32}, {"dest": -1}, {"addresses": Addresses(source_mac=1 << 48)}]
)
def test_rejects_what_does_not_fit(changes):
    packet = replace(random_packet(random.Random(4)), **changes)
    with pytest.raises(ValueError, match="does not fit"):
        packet.to_bytes()


def test_from_bytes_rejects():
    rng = random.Random(5)
    octets = random_packet(rng, Kind.RESPONSE, 16, 3).to_bytes()
    for length in (0, 63, 64, len(octets) - 1):
        with pytest.raises(ValueError, match="bytes"):
            Packet.from_bytes(octets[:length])
    with pytest.raises(ValueError, match="0 is not a valid Kind"):
        Packet.from_bytes(octets[:50] + b"\0\0" + octets[52:])
    for at in (12, 14, 17, 22, 23, 24, 35, 36, 39, 41, 49):  # nothing but addresses may differ
        changed = bytes(octet ^ (k == at) for k, octet in enumerate(octets))
        with pytest.raises(ValueError, match="upper layers that are not ours"):
            Packet.from_bytes(changed)


def test_beats_that_no_packet_has():
    full = (1 << 64) - 1
    assert from_beats([(1, full, 0, 0), (2, 1, 1, 0)]) == b"\1" + bytes(63) + b"\2"
    for beats in (
        [(0, full, 0, 0)],
        [(0, full >> 1, 0, 0), (0, 1, 1, 0)],
        [(0, 0, 1, 0)],
        [(0, 5, 1, 0)],
        [(0, full, 1, 0), (0, full, 1, 0)],
    ):
        with pytest.raises(ValueError, match="beat"):
            from_beats(beats)
    with pytest.raises(ValueError, match="at least one byte"):
        to_beats(b"")


def test_broken_packets_are_marked():
    assert [user for *_, user in to_beats(bytes(200), broken=True)] == [0, 0, 0, 1]


def layers(packet: Packet):
    """Return ``packet`` as Scapy builds it; lengths, counts and the IP checksum are its own."""
    addresses = {"src": "02:00:00:00:00:02", "dst": "02:00:00:00:00:01"}
    requests = [
        PrLayer(src=p.src, tid=p.tid, idx=p.idx, id=p.id, payload_bytes=p.payload)
        for p in packet.prs
    ]
    shared = {"type": packet.kind.value, "dest": packet.dest, "len": packet.length}
    tos = 0x60 if packet.kind is Kind.READ else 0x80  # class selectors 3 and 4
    return (
        Ether(**addresses)
        / IP(src="10.0.0.2", dst="10.0.0.1", tos=tos, id=0, flags="DF", ttl=64)
        / UDP(sport=PORT, dport=PORT, chksum=0)
        / ConcatenationLayer(**shared, requests=requests)
    )


def test_scapy_reads_our_bytes():
    rng = random.Random(1)
    for kind in Kind:
        for _ in range(20):
            packet = random_packet(rng, kind)
            frame = dissect(packet.to_bytes())
            checksum = frame[IP].chksum
            del frame[IP].chksum
            assert Ether(bytes(frame))[IP].chksum == checksum
            assert frame[IP].len == packet.size - 14
            assert frame[UDP].len == packet.size - 34
            seen = frame[ConcatenationLayer]
            assert (seen.reserved, seen.type, seen.dest) == (0, kind.value, packet.dest)
            assert (seen.len, seen.prs) == (packet.length, len(packet.prs))
            result = [(p.src, p.tid, p.idx, p.id, p.payload_bytes) for p in seen.requests]
            assert result == [(p.src, p.tid, p.idx, p.id, p.payload) for p in packet.prs]
            assert not seen.payload


def test_scapy_builds_our_bytes():
    rng = random.Random(2)
    for kind in Kind:
        for _ in range(20):
            packet = random_packet(rng, kind)
            assert packet.addresses == ADDRESSES
            octets = bytes(layers(packet))
            assert octets == packet.to_bytes()
            assert Packet.from_bytes(octets) == packet


def test_capture(tmp_path):
    rng = random.Random(3)
    packets = [random_packet(rng) for _ in range(5)]
    path = tmp_path / "packets.pcap"
    write_pcap(path, [packets[0], *(packet.to_bytes() for packet in packets[1:])])
    assert [bytes(frame) for frame in rdpcap(str(path))] == [p.to_bytes() for p in packets]
