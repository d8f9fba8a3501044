"""Checks that a gather engine's guide is whole, and has the golden models' numbers and layouts.

That the hardware does what it says is ``tests/gen/software/test_gather_engine_on_rtl.py``.
"""

import pytest

from gen.designs.catalogue import find_design
from gen.guides.gather_engine import AFTER_FAULT, guide, values
from hdl.common.rings import Fault
from hdl.gather.engine_counters import COUNTED
from hdl.gather.registers import engine_registers
from sim.gather.golden.engine import Outcome
from sim.golden.pcie_requester import Cause
from tests.gen.guides.bench import check_text, numbers_of
from tests.gen.software.gather_card import ORDERS

DESIGN = find_design("gather-engine")
BUILDS = (
    *({"preset": preset} for preset in DESIGN.presets),
    {"preset": "tiny", "outputs": "all", "kept_parts": 512, "card_idxs": True},
    {"preset": "tiny", "outputs": "host"},
    {"preset": "tiny", "outputs": "stream", "descriptors": 4},
)
#: bytes of a completion and of a descriptor, and the field that is there
COMPLETION = """
0 to 1 tag, 2, bits 3:0 outcome, 2, bits 7:4 cause, 3 reserved, 4 to 7 beyond, 8 to 11 failed,
12 to 14, and 15, bits 6:0 zero, 15, bit 7 done
"""
DESCRIPTOR = """
0 to 7 idx_address, 8 to 15 base, 16 to 23 destination, 24 to 31 completion, 32 to 35 count,
36 to 39 rows, 40 to 43 stride, 44 to 47 row_bytes, 48 to 49 tag, 50 order, 51 wide, 52 on_card,
53 streamed, 54 coalesce, 55 posted, 56 to 63 reserved
"""


@pytest.fixture(params=BUILDS, ids=lambda build: "-".join(map(str, build.values())))
def params(request):
    return DESIGN.params_of(**request.param)


def test_every_counter_and_code_is_reported(params):
    reported = values(params)
    for codes, numbered in (("outcomes", Outcome), ("causes", Cause)):
        assert numbers_of(reported[codes]) == {item.name: item.value for item in numbered}
    assert [*numbers_of(reported["orders"]).items()] == [*zip(ORDERS[:-1], range(3), strict=True)]
    assert list(AFTER_FAULT) == [fault for fault in Fault if fault is not Fault.WRITE]
    assert [*numbers_of(reported["counts"]).values()] == [*range(len(COUNTED))]


def test_the_text_is_whole(params):
    text = guide(params)
    assert text.count("\n## ") == 13 + params.to_stream + params.to_host + bool(params.descriptors)
    assert ("`coalesce` does nothing, and" in text) == (not params.kept_parts)
    check_text(text, engine_registers(params))
    assert f"unless the host allows less | {params.max_read} |" in text
    assert "`identity` reads 0x47544852, `version` reads 3." in text
    assert "which is bit 7 of byte 15." in text


def test_bytes_are_reported():
    reported = values(DESIGN.params_of("tiny", descriptors=4))
    for layout, expected in (("completion", COMPLETION), ("descriptor", DESCRIPTOR)):
        result = ", ".join("{bytes} {field}".format(**row) for row in reported[layout])
        assert result == " ".join(expected.split())
