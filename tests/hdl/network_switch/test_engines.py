"""Any engines may be left out: the others keep their order, and registers say who is where."""

from dataclasses import fields, replace

import pytest

from gen.base.settings import make_params
from hdl.network_switch.params import HAS, NetworkSwitchParams
from hdl.network_switch.presets import PRESETS
from hdl.network_switch.registers import ENGINES, lost_counters, own_registers, part_maps
from hdl.network_switch.switch import NetworkSwitch
from sim.harness.emissions import emission_of

TINY = make_params(NetworkSwitchParams, PRESETS["tiny"])
FLAGS = [item.name for item in fields(TINY) if item.name.startswith(HAS)]


def test_each_engine_has_a_flag():
    assert [HAS + name for name in ENGINES] == FLAGS


@pytest.mark.parametrize("left", [(), ("netsparse",), ("p4sgd", "switchgnn")])
def test_a_switch_with_few_engines(left):
    params = replace(TINY, **{HAS + name: name in left for name in ENGINES})
    emission = emission_of(NetworkSwitch(params))
    kinds = {module.kind.__name__ for module in emission.modules.values()}
    assert ("LosslessPort" in kinds) == ("netsparse" in left) == (lost_counters(params) is not None)
    assert [*part_maps(params)] == ["forwarding", *left]
    constants = own_registers(params).constants
    pages = {name: constants[f"{name}_page"] for name in ENGINES}
    assert pages == {name: 2 + left.index(name) if name in left else 0 for name in ENGINES}
    assert ("Classifier" in kinds) == bool(left)


def test_all_parts_have_the_ports_of_the_switch():
    params = replace(TINY, ports=6)
    parts = (params.forwarding, params.p4sgd, params.allreduce, params.switchgnn, params.netsparse)
    assert {part.ports for part in parts} == {6}


def test_tables_in_memory_are_refused():
    with pytest.raises(ValueError, match=r"switchgnn\.tables must be chip"):
        replace(TINY, switchgnn=replace(TINY.switchgnn, tables="memory", rows=1 << 10))
