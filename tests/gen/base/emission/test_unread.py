"""Checks that each signal that no module reads is named in sim/coverage/exclusions.toml.

Verilator's UNUSEDSIGNAL sees the copies that Amaranth makes of every port; Yosys says which nets
nobody reads, through all instances.
"""

from functools import cache

import pytest

from gen.base.emission.branches import with_branches
from gen.designs.catalogue import designs
from sim.coverage.data import Toggle
from sim.coverage.exclusions import read_rules
from sim.coverage.nets import nets_of
from sim.coverage.source import modules_of
from sim.harness import emissions

TOPS = [name for name, design in designs().items() if not design.within]
UNNAMED = ("$", "\\$")  # results of operators: carries that are cut off, for example
RULES = [rule for rule in read_rules() if rule.nature == "unread"]


@cache
def unread(name):
    """Return every bit that nothing reads: its component, and the rule that names it or None."""
    design = designs()[name]
    emission = with_branches(emissions.emission_of(design.make(design.params_of()), generated=True))
    modules = modules_of(emission.verilog)
    nets = nets_of(modules.values())
    result = {}
    for module, source in modules.items():
        kind = emission.modules[module].kind
        component = f"{kind.__module__}.{kind.__qualname__}"
        for signal, bits in nets[source.key].unread.items():
            for bit in () if signal.startswith(UNNAMED) else bits:
                result[component, signal, bit] = rule_for(component, signal, bit)
    return result


def rule_for(component, signal, bit):
    at = Toggle(signal, bit, rises=True)
    rules = (rule for rule in RULES if rule.is_for(component) and rule.takes_toggle(at, "unread"))
    return next(rules, None)


@pytest.mark.parametrize("name", TOPS)
def test_unread_signals_are_named(name):
    missing = {f"{place[0]} {place[1]}" for place, rule in unread(name).items() if rule is None}
    assert not missing, "nothing reads\n" + "\n".join(sorted(missing))


def test_what_is_named_is_unread():
    needed = {rule for name in TOPS for rule in unread(name).values()}
    idle = [f"{rule.component} {rule.signal}" for rule in RULES if rule not in needed]
    assert not idle, "everything is read that these rules name\n" + "\n".join(idle)
