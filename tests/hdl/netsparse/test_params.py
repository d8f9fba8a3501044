from dataclasses import replace

from hdl.netsparse.params import SnicParams
from hdl.netsparse.queue.params import NO_UNIT
from hdl.netsparse.rig.params import RigParams
from tests.rejects import rejects

PAPER = SnicParams()


def test_the_paper_is_the_default():
    """The defaults are those of Table 5."""
    rig = PAPER.rig
    assert (PAPER.units, PAPER.mtu, rig.nodes, rig.idx_bits) == (32, 1500, 128, 40)
    assert (rig.pending_entries, rig.lsq_entries) == (256, 64)
    assert (rig.idx_buffer_bytes, rig.property_buffer_bytes) == (4096, 4096)
    assert rig.most_property_bytes == 512
    # An L1 for each unit, of which half are clients, and the LLC; there is no L2 between them.
    assert (PAPER.filter_unit_bytes, PAPER.filter_cache_bytes) == (32 * 1024, 16 * 1024**2)


def test_parts_agree():
    for params in (PAPER, replace(PAPER, units=3, mtu=9216, filter_banks=32)):
        assert params.host.units - 1 == params.filter.units == params.units
        assert params.host.address_bits == params.rig.address_bits
        assert params.filter.slots == params.rig.lsq_entries
        assert params.filter.idx_bits == params.rig.idx_bits
        for payload in (False, True):
            sender, receiver = params.concatenator(payload), params.deconcatenator(payload)
            assert sender.payload == receiver.payload == payload
            assert sender.mtu == receiver.mtu == params.mtu
            assert sender.nodes == receiver.nodes == params.rig.nodes
            assert sender.most_property_bytes == receiver.most_property_bytes
        assert 1 << dict(params.completed)["unit"].width > NO_UNIT


def test_host_reads_hold_a_chunk_of_idxs():
    largest = replace(PAPER.rig, idx_buffer_bytes=16384)
    assert largest.idx_buffer_bytes // 4 <= PAPER.host.max_bytes


test_rejects = rejects(
    SnicParams,
    ({"dram_address_bits": 30}, "address_bits must be a whole number from 37"),
    ({"rig": RigParams(idx_bits=12)}, "idx_bits must be a whole number from"),
)


def test_suffixes_differ():
    sizes = [PAPER, replace(PAPER, units=4), replace(PAPER, pool=64)]
    sizes.append(replace(PAPER, rig=RigParams(pending_entries=64)))
    assert len({params.suffix for params in sizes}) == len(sizes)
