from hdl.common.crossbar import CrossbarParams
from hdl.netsparse.idx_filter.params import FilterCacheParams
from hdl.netsparse.idx_filter.slot_ring import SlotRingParams
from tests.rejects import refuses

PAPER = {
    "units": 16,
    "banks": 16,
    "cache_bytes": 16 * 1024**2,
    "ways": 4,
    "unit_bytes": 32 * 1024,
    "address_bits": 40,
    "slots": 64,
}
SMALL = PAPER | {"banks": 1, "cache_bytes": 512, "unit_bytes": 64, "idx_bits": 14}
RING = {"first": 0, "count": 4, "lsq_entries": 8, "width": 3}


def test_paper():
    params = FilterCacheParams(**PAPER)
    assert (params.sets, params.words, params.bank_bits) == (4096, 131072, 4)
    assert (params.line_bits, params.tag_bits) == (31, 15)
    assert (params.unit_rows, params.unit_tag_bits, params.clear_bits) == (16384, 22, 14)
    assert params.request.size == 1 + 40 + 6
    assert params.control.size == 40 + 41 + 1


def test_one_bank_has_a_tag():
    params = FilterCacheParams(**{**SMALL, "units": 1})
    assert (params.bank_bits, params.read_port.tag_bits) == (0, 1)


test_rejects = refuses(
    lambda kind, sizes: kind(**sizes),
    (FilterCacheParams, PAPER | {"units": 65}, "units must be from 1 to 64: 65"),
    (FilterCacheParams, PAPER | {"banks": 3}, "banks must be a power of two, up to 64: 3"),
    (FilterCacheParams, PAPER | {"banks": 0}, "banks must be a power of two, up to 64: 0"),
    (FilterCacheParams, PAPER | {"ways": 8}, "ways must be 1, 2 or 4: 8"),
    (FilterCacheParams, PAPER | {"slots": 1}, "slots must be from 2 to 1024: 1"),
    (FilterCacheParams, PAPER | {"cache_bytes": 2048}, "2048 bytes give 0.5 lines$"),
    (FilterCacheParams, PAPER | {"cache_bytes": 12288}, "12288 bytes give 3 lines$"),
    (FilterCacheParams, PAPER | {"idx_bits": 25}, "idx_bits must be from 26, .* to 64: 25"),
    (FilterCacheParams, PAPER | {"unit_bytes": 2}, "a power of two from 4 to 65536: 2"),
    (FilterCacheParams, PAPER | {"unit_bytes": 1 << 17}, "from 4 to 65536: 131072"),
    (
        FilterCacheParams,
        SMALL | {"unit_bytes": 2048},
        "less than 2048, the bytes that hold a bit for each idx: 2048",
    ),
    (FilterCacheParams, PAPER | {"address_bits": 36}, "address_bits must be from 37, .*: 36"),
    (CrossbarParams, {"inputs": 0, "outputs": 1, "width": 1}, "inputs must be from 1 to 64: 0"),
    (CrossbarParams, {"inputs": 1, "outputs": 65, "width": 1}, "outputs must be from 1 to 64"),
    (CrossbarParams, {"inputs": 1, "outputs": 1, "width": 0}, "width must be at least 1: 0"),
    (SlotRingParams, RING | {"count": 1}, "count must be at least 2 slots: 1"),
    (
        SlotRingParams,
        RING | {"first": 5},
        "first must be from 0 to 4, so that all slots are in the LSQ: 5",
    ),
    (SlotRingParams, RING | {"width": 0}, "width must be at least 1: 0"),
)
