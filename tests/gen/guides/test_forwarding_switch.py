"""Checks that the guide of the forwarding switch is whole, with each counter and each cause.

What it says that packets do is what its bench does (``tests/gen/software/test_benches.py``).
"""

import pytest

from gen.designs.catalogue import find_design
from gen.guides.forwarding_switch import guide, values
from hdl.switch.forwarding.counters import COUNTERS
from hdl.switch.forwarding.registers import forwarding_registers
from tests.gen.guides.bench import check_text

DESIGN = find_design("forwarding-switch")


@pytest.mark.parametrize("preset", DESIGN.presets)
def test_the_text_is_whole(preset):
    params = DESIGN.params_of(preset)
    text = guide(params)
    assert text.count("\n## ") == 9
    check_text(text, forwarding_registers(params))


def test_every_counter_and_cause_has_a_meaning():
    reported = values(DESIGN.params_of("tiny"))["counters"]
    assert [name for _, name, _ in reported] == [name for name, _ in COUNTERS.counters]
    assert len({what for *_, what in reported}) == len(reported)
    meanings = {name: what for _, name, what in reported}
    assert meanings["in_pkts_from_64"] == "packets of 64 bytes that have come, with checksums"
    assert meanings["out_pkts_from_1519"].startswith("packets of 1519 bytes and more that")
    assert meanings["in_unicast_pkts"] == "good unicast packets that have come"
