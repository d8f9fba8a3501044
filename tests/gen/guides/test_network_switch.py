"""Checks that the guide of a switch for every system is whole, with the pages of its parts."""

from dataclasses import replace

import pytest

from gen.designs.catalogue import find_design
from gen.guides.network_switch import guide
from hdl.network_switch.registers import own_registers, part_maps
from tests.gen.guides.bench import check_text

TINY = find_design("network-switch").params_of("tiny")
FEW = replace(TINY, has_netsparse=False, has_p4sgd=False)


@pytest.mark.parametrize("params", [TINY, FEW], ids=["all", "few"])
def test_the_text_is_whole(params):
    text = guide(params)
    check_text(text, own_registers(params))
    for page, (name, map) in enumerate(part_maps(params).items(), start=1):
        assert f"| {page} | {name} | `{map.name}` | `{map.name}_host` |" in text
    assert ("reads of NetSparse are priority 3" in text) == params.has_netsparse
    assert ('part("p4sgd")' in text) == params.has_p4sgd
