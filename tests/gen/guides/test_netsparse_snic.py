"""Checks that the guide is enough: a host made from it does what drivers and models do.

``snic_from_the_guide`` imports nothing of the project and reads addresses from the guide's text.
"""

import random

import numpy as np
import pytest

from gen.base.comments import meanings
from gen.designs.catalogue import find_design
from gen.guides.netsparse_snic import guide, values
from gen.guides.netsparse_snic_uses import DROPS
from gen.software.netsparse_snic import software
from hdl.common.rings import Fault
from hdl.netsparse.concat.deconcatenator_params import Drop
from hdl.netsparse.queue.params import ENTRY
from hdl.netsparse.registers import snic_registers
from hdl.netsparse.rig.params import Cause
from sim.netsparse import wire
from sim.netsparse.golden import concatenation, idx_filter
from sim.netsparse.golden.gather import expected, gather, host_memory_before
from sim.netsparse.golden.rings import pack_descriptor, unpack_entry
from sim.netsparse.host.snic.request import Request
from sim.workloads.partition import Partition
from tests.gen.guides import snic_from_the_guide as independent
from tests.gen.guides.bench import check_text
from tests.gen.software.fake_card import FakeCard
from tests.hdl.netsparse.concat.concatenator_bench import verdict

DESIGN = find_design("netsparse-snic")
MAC_BASE, IP_BASE = 0x0200_0000_0000, 0x0A00_0000  # as the driver has them
#: bytes that decide whether a packet is dropped, before the PRs; 66 is of the first one's src
FATEFUL = (12, 14, 17, 23, 37, 39, 51, 55, 59, 63)


@pytest.fixture(params=DESIGN.presets)
def params(request):
    return DESIGN.params_of(request.param)


class Card(FakeCard):
    """Stands in for a card; ``moments`` are its registers at each command of a few."""

    def __init__(self, params):
        noted = dict.fromkeys(("submit", "write_boundary"), self.note)
        super().__init__(software(params), **noted)
        self.moments = []

    def note(self):
        self.moments.append((self.log[-1], self.written()))

    def written(self):
        """Return the words that are not 0, by address."""
        return {address: word for address, word in self.words.items() if word}

    def take(self, accesses):
        """Take writes of the guide's reader."""
        for access in accesses:
            self.write(*access)


def requests_of(params, rng, count):
    most, bits = params.rig.most_property_bytes, params.rig.address_bits
    for tag in range(count):
        idx_bytes = rng.choice((4, 8))
        yield independent.Request(
            unit=rng.randrange(params.units),
            tag=rng.choice((tag, 65535 - tag)),
            idx_address=rng.randrange(1 << bits - 3) * 8,
            count=rng.getrandbits(32),
            idx_bytes=idx_bytes,
            property_address=rng.randrange(1 << bits - 2) * 4,
            property_bytes=rng.randrange(1, most // 4 + 1) * 4,
            watchdog=rng.getrandbits(32),
        )


def as_driven(request):
    """Return the request as the host software takes it."""
    fields = vars(request) | {"wide": request.idx_bytes == 8}
    del fields["idx_bytes"]
    return Request(**fields)


def test_every_cause_fault_and_drop_is_reported():
    assert set(meanings(Cause)) == set(Cause)
    assert set(meanings(Fault)) == set(Fault)
    assert list(DROPS) == [drop.name for drop in Drop]


def test_the_text_is_whole(params):
    text = guide(params)
    assert text.count("\n## ") == 16
    check_text(text, snic_registers(params))


@pytest.mark.parametrize("host_bus", ["axi", "pcie"])
def test_the_path_to_host_memory_is_the_one_that_is_there(host_bus):
    text = guide(DESIGN.params_of("tiny", host_bus=host_bus))
    over_pcie = host_bus == "pcie"
    assert ("`m_axi_host` reads" in text) != over_pcie
    assert ("`rq` and `rc` are streams" in text) == over_pcie
    assert ("BAR 2 is the block's own" in text) == over_pcie


def test_the_same_registers_are_written(params):
    driven, reported, registers = Card(params), Card(params), independent.Registers(guide(params))
    rng = random.Random(1)
    boundaries = [0, *sorted(rng.randrange(1 << 20) for _ in range(min(params.rig.nodes, 3)))]
    requests = list(requests_of(params, rng, 20))
    snic = driven.attach()
    snic.set_up(1, boundaries, servers=[])
    reported.take(
        independent.partition_writes(registers, 1, boundaries, params.rig.nodes, MAC_BASE, IP_BASE)
    )
    for request in requests:
        snic.submit([as_driven(request)])
        reported.take(independent.submit_writes(registers, request))
    assert reported.moments == driven.moments
    assert len(reported.moments) == params.rig.nodes + len(requests)


def test_the_rings_are_used_alike(params):
    driven, reported, registers = Card(params), Card(params), independent.Registers(guide(params))
    at, places, entries = 0x400, (4, 8), 0x400 + 64 * 4
    own = bytearray(entries + 16 * 8)
    snic = driven.attach()
    driver_rings = independent.Rings(registers, own, at, 2, entries, 3)
    rng = random.Random(2)
    snic.use_rings(at, *places)
    reported.take(driver_rings.open())
    assert reported.written() == driven.written()
    written = 0
    for burst in range(200):
        requests = list(requests_of(params, rng, rng.randrange(1, snic._path.room + 1)))
        assert snic.submit([as_driven(request) for request in requests]) == len(requests)
        reported.take(driver_rings.submit(requests))
        for request in requests:
            entry = {"tag": request.tag, "unit": request.unit, "cause": Cause.DONE.value}
            entry["consumer"] = (
                driver_rings.produced - rng.randrange(2) * (request is requests[0])
            ) % 65536
            entry["phase"] = 1 - written // 8 % 2
            octets = ENTRY.const(entry).as_bits().to_bytes(16, "little")
            driven.write_memory(entries + 16 * (written % 8), octets)
            written += 1
        own[entries:] = driven.read_memory(entries, 16 * 8)
        done = snic.completions()
        result = driver_rings.completions()
        assert [(item.unit, item.tag, Cause(item.cause).name) for item in result] == done
        assert len(result) == len(requests)
        assert own[at:] == driven.read_memory(at, len(own) - at)
        snic.acknowledge()
        reported.take(driver_rings.doorbells())
        assert reported.written() == driven.written(), burst


def test_bytes_of_descriptors_and_completions(params):
    rng = random.Random(3)
    for request in requests_of(params, rng, 50):
        fields = vars(request) | {"wide": int(request.idx_bytes == 8)}
        del fields["idx_bytes"]
        assert independent.descriptor(request) == pack_descriptor(**fields)
        octets = rng.randbytes(16)
        assert vars(independent.entry_of(octets)) == vars(unpack_entry(octets))


@pytest.mark.parametrize("columns", [1, 512, 513, 3000])
def test_the_filter_has_the_same_bits(columns):
    bits = np.random.default_rng(columns).integers(0, 2, columns, dtype=bool)
    assert independent.filter_image(bits) == idx_filter.image(bits).tobytes()


@pytest.mark.parametrize("idx_bytes", [4, 8])
def test_a_gather_leaves_the_same_memory(idx_bytes):
    rng = np.random.default_rng(4)
    partition = Partition((0, 40, 40, 100))
    properties = rng.integers(0, 1 << 32, (100, 3), dtype=np.uint32)
    idxs = [rng.integers(0, 100, 30) for _ in range(3)]
    afterwards = gather(properties, partition, idxs)
    for node in range(3):
        before = host_memory_before(properties, partition, node).tobytes()
        memory = bytearray(64) + bytearray(before)
        octets = independent.idx_array(idxs[node], idx_bytes)
        read = np.frombuffer(octets, dtype=f"<u{idx_bytes}")
        own = partition.block(node)
        rows = properties.view(np.uint8).reshape(100, 12)
        remote = independent.gather(memory, rows, read, own.start, own.stop, 100, 64, 12)
        assert memory[64:] == afterwards[node].tobytes()
        assert len(remote) == expected(partition, node, [idxs[node]]).distinct


def some_packet(params, rng, node):
    """Draw a packet of any kind, as the guide's reader makes it and as the golden model does."""
    kind = rng.choice((independent.READ, independent.RESPONSE, independent.ERROR))
    length = rng.randrange(1, params.rig.most_property_bytes // 4 + 1) * 4
    each = 18 + (length if kind == independent.RESPONSE else 0)
    most = 1 if kind == independent.ERROR else (params.mtu - 64) // each
    source, dest = (rng.randrange(params.rig.nodes) for _ in range(2))
    prs = [
        independent.Pr(
            src=rng.randrange(params.rig.nodes),
            tid=rng.randrange(params.units),
            idx=rng.getrandbits(params.rig.idx_bits),
            id=rng.getrandbits(32),
            data=rng.randbytes(length) if kind == independent.RESPONSE else b"",
        )
        for _ in range(rng.randint(1, most))
    ]
    dest = rng.choice((node, dest))
    sizes = (MAC_BASE, IP_BASE, params.mtu)
    own = independent.packet(kind, source, dest, length, prs, *sizes)
    golden = [
        concatenation.Request(kind=concatenation.Kind(kind), dest=dest, length=length, **vars(item))
        for item in prs
    ]
    addresses = concatenation.Addresses(mac_base=MAC_BASE, ip_base=IP_BASE)
    return own, (kind, dest, length, prs), concatenation.to_bytes(golden, source, addresses)


def test_packets_are_the_same_bytes(params):
    rng = random.Random(5)
    for _ in range(100):
        own, fields, golden = some_packet(params, rng, 0)
        assert own == golden
        assert independent.parsed(golden) == fields


def test_packets_are_dropped_alike(params):
    rng = random.Random(6)
    node, met = params.rig.nodes - 1, set()
    for _ in range(1000):
        octets = bytearray(some_packet(params, rng, node)[0])
        for _ in range(rng.randrange(3)):
            at = rng.choice((*FATEFUL, 66, 66, 66, rng.randrange(len(octets))))
            if at < len(octets):
                octets[at] = rng.choice((octets[at] ^ 1 << rng.randrange(8), 1, 2, 3))
        if rng.random() < 0.2:
            del octets[rng.randrange(20, len(octets)) :]
        octets += rng.randbytes(rng.choice((0, 0, 0, 0, 1, 2000)))
        responses, broken = rng.random() < 0.5, rng.random() < 0.05
        sizes = (params.rig.nodes, params.mtu, params.rig.most_property_bytes)
        result = independent.verdict(bytes(octets), node, *sizes, responses, broken)
        beats = wire.to_beats(bytes(octets), broken=broken)
        drop, _ = verdict(beats, params.deconcatenator(responses), node)
        assert result == (drop.name if drop is not None else "")
        met.add(result)
    assert met == {"", *DROPS}


def octets_of(reported):
    return bytes.fromhex("".join(line.partition(":")[2] for line in reported))


def test_the_known_answer_is_right(params):
    known = values(params)["known"]
    partition = Partition(known["boundaries"])
    idxs, requested = known["idxs"], list(known["asked"])
    counts = expected(partition, 0, [idxs])
    assert (counts.consumed, counts.local, counts.distinct) == (len(idxs), 1, len(requested))
    assert requested == list(dict.fromkeys(idx for idx in idxs if idx >= partition.boundaries[1]))
    assert bytes.fromhex(known["array"]) == np.array(idxs, "<u4").tobytes()
    addresses = [int(known[name], 16) for name in ("idx_address", "property_address")]
    assert octets_of(known["descriptor"]) == pack_descriptor(
        idx_address=addresses[0],
        property_address=addresses[1],
        count=len(idxs),
        watchdog=known["watchdog"],
        property_bytes=known["bytes"],
        tag=known["tag"],
        unit=0,
        wide=0,
    )
    entry = unpack_entry(bytes.fromhex(known["entry"]))
    assert vars(entry) == {"tag": known["tag"], "unit": 0, "cause": 0, "consumer": 1, "phase": 1}
    words = np.array([[idx, 2 * idx] for idx in range(partition.count)], np.uint32)
    memory = gather(words, partition, [idxs, []])[0]
    assert known["written"] == [
        (f"0x{addresses[1] + 8 * idx:X}", memory[idx].tobytes().hex(" "), idx) for idx in requested
    ]
    reads, responses = octets_of(known["reads"]), octets_of(known["responses"])
    addresses = concatenation.Addresses(
        mac_base=int(known["mac"], 16), ip_base=int(known["ip"], 16)
    )
    for octets, source in ((reads, 0), (responses, 1)):
        golden = concatenation.from_bytes(octets)
        assert octets == concatenation.to_bytes(golden, source, addresses)
    own = partition.block(1)
    answers = independent.served(
        reads, 1, own.start, own.stop, known["bytes"], lambda idx: words[idx].tobytes()
    )
    assert responses == independent.packet(
        independent.RESPONSE, 1, 0, 8, [item[3] for item in answers], MAC_BASE, IP_BASE, params.mtu
    )
    assert {item[:3] for item in answers} == {(independent.RESPONSE, 0, 8)}
