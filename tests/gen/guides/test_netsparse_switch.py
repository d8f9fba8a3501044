"""Checks that a NetSparse switch's guide is whole and has the RTL's codes.

What it tells of the hardware is checked by ``tests/gen/software/test_netsparse_switch_on_rtl.py``.
"""

import pytest

from gen.designs.catalogue import find_design
from gen.guides import netsparse_switch_uses as uses
from gen.guides.netsparse_switch import guide, values
from hdl.netsparse.concat.deconcatenator_params import Drop
from hdl.netsparse.switch.registers import switch_registers
from hdl.netsparse.switch.switch_counters import PIPE_COUNTERS, PORT_COUNTERS
from sim.netsparse.golden.property_cache import PropertyCache
from tests.gen.guides.bench import check_text

DESIGN = find_design("netsparse-switch")


@pytest.fixture(params=DESIGN.presets)
def params(request):
    return DESIGN.params_of(request.param)


def test_every_counter_and_drop_is_reported(params):
    assert list(uses.DROPS) == [drop.name for drop in Drop]
    reported = values(params)
    for counters, bank in (("port_counters", PORT_COUNTERS), ("pipe_counters", PIPE_COUNTERS)):
        assert [(k, name) for k, name, _ in reported[counters]] == [
            (k, name) for k, (name, _) in enumerate(bank.counters)
        ]
        assert all(what for _, _, what in reported[counters])


def test_the_text_is_whole(params):
    text = guide(params)
    assert text.count("\n## ") == 10 + 3 * bool(params.pipes)
    check_text(text, switch_registers(params))


def test_modes_are_those_of_the_cache(params):
    cache = params.cache
    model = PropertyCache(segments=cache.segments, sets=cache.sets, ways=cache.ways)
    for mode, least, most, count in values(params)["modes"]:
        for size in (least, most):
            model.configure(size)
            assert (model.together, model.lines) == (mode, count)
