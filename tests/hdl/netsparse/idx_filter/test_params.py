from hdl.netsparse.idx_filter.params import FilterCacheParams
from tests.rejects import rejects

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


test_rejects = rejects(
    FilterCacheParams,
    (PAPER | {"cache_bytes": 2048}, "2048 bytes give 0.5 lines$"),
    (PAPER | {"cache_bytes": 12288}, "12288 bytes give 3 lines$"),
    (PAPER | {"idx_bits": 25}, "idx_bits must be a whole number from 26 to 64, .*: 25"),
    (SMALL | {"unit_bytes": 2048}, "less than 2048, the bytes that hold a bit for each idx: 2048"),
    (PAPER | {"address_bits": 36}, "address_bits must be a whole number from 37 to 64, .*: 36"),
)
