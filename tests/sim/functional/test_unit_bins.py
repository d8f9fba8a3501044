from importlib import import_module

import pytest
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.netsparse.concat.deconcatenator_params import Drop
from sim.functional.unit_bins import (
    Interrupted,
    UnitGroup,
    UnitWatcher,
    at_once,
    condition_of,
    enum_bits,
)
from sim.functional.units import units
from tests.sim.functional.bench import Dut, hits

EVENTS = data.StructLayout({"drops": len(Drop), "packet": 1})


class Unit(Component):
    def __init__(self, params=None):
        super().__init__(params, events=Out(EVENTS), take=In(1), release=In(2).array(2))


def test_a_group_is_sampled_when_it_means_something():
    what = UnitGroup(
        name="drops",
        ports=("release[]",),
        when=("take",),
        sizes=lambda params: {"most": params},
        bins={
            **enum_bits("events.drops", Drop),
            "after a packet": "before.events.packet",
            "as many as may be": lambda now, before: now["release[]"] == [now["most"], 1],
        },
    )
    dut = Dut(events=0b10, take=0, release_0=0, release_1=1)
    watcher = UnitWatcher(dut, Unit(3), "tests.Unit", what)
    watcher.look()
    assert not hits("tests.Unit drops")
    dut.take.value = 1
    watcher.look()
    assert hits("tests.Unit drops") == {"FOREIGN"}
    dut.events.value = 1 << len(Drop)
    watcher.look()
    assert hits("tests.Unit drops") == {"FOREIGN"}
    dut.events.value, dut.release_0.value = 0, 3
    watcher.look()
    assert hits("tests.Unit drops") == {"FOREIGN", "after a packet", "as many as may be"}


@pytest.mark.parametrize("path", units())
def test_groups_are_of_units_that_exist(path):
    module, _, name = path.rpartition(".")
    assert issubclass(getattr(import_module(module), name), Component)


def test_a_condition_is_an_expression_of_ports_now_and_before():
    """What it names are ports, fields of these, and a member's name or value."""
    issue, ports = condition_of(
        "events.packet > before.take and drop.name == 'FOREIGN' and not drop.value"
    )
    assert ports == {"events", "take", "drop"}
    now = {"events": {"packet": 1}, "take": 1, "drop": Drop(0)}
    assert issue(now, now | {"take": 0}) == (Drop(0).name == "FOREIGN")
    assert not issue(now, now)


def test_events_beside_a_control_and_what_is_interrupted():
    bins = at_once("take", "events.packet and release_0").bins
    beside = {name: condition_of(condition)[0] for name, condition in bins.items()}
    empty, event, control, both = (
        {"take": bits >> 1, "events": {"packet": bits & 1}, "release_0": 1} for bits in range(4)
    )
    cases = {
        "before": (control, event),
        "in its cycle": (both, empty),
        "behind": (event, control),
    }
    for bin, samples in cases.items():
        assert [name for name, issue in beside.items() if issue(*samples)] == [bin]
    ended = Interrupted("take", 2)
    takes = [1, 1, 1, 0, 1, 1, 0, 0]
    assert [ended({"take": take}, {}) for take in takes] == [k == 6 for k in range(8)]
