import random

from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.utils import rdpcap

from hdl.netsparse.protocol import Kind
from sim.netsparse.wire import Packet
from tests.sim.netsparse.scapy_layer import PORT, ConcatenationLayer, PrLayer, dissect, write_pcap
from tests.sim.netsparse.test_wire import ADDRESSES, random_packet


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
            found = [(p.src, p.tid, p.idx, p.id, p.payload_bytes) for p in seen.requests]
            assert found == [(p.src, p.tid, p.idx, p.id, p.payload) for p in packet.prs]
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
