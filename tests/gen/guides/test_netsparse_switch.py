"""Checks that a NetSparse switch's guide is whole, and that its steps write what the driver does.

That its model answers as the hardware does is ``test_netsparse_switch_on_rtl.py``.
"""

import asyncio

import pytest

from gen.designs.catalogue import find_design
from gen.guides import netsparse_switch_uses as uses
from gen.guides.netsparse_switch import guide, values
from hdl.netsparse.concat.deconcatenator_params import Drop
from hdl.netsparse.switch.registers import switch_registers
from hdl.netsparse.switch.switch_counters import PIPE_COUNTERS, PORT_COUNTERS
from sim.netsparse.golden.property_cache import PropertyCache
from sim.netsparse.switch_driver import SwitchDriver
from tests.gen.guides import netsparse_switch_from_the_guide as independent
from tests.gen.guides.bench import check_text
from tests.gen.guides.fake_host import FakeBus, settled
from tests.gen.guides.snic_from_the_guide import Registers

DESIGN = find_design("netsparse-switch")


@pytest.fixture(params=DESIGN.presets)
def params(request):
    return DESIGN.params_of(request.param)


def model_of(params, **settings):
    """Return the model that was written from the guide, in the sizes that it tells."""
    cache = params.cache
    return independent.Switch(
        ports=params.ports,
        pipes=params.pipes,
        nodes=params.nodes,
        mtu=params.mtu,
        most_bytes=params.most_property_bytes,
        segments=cache.segments,
        sets=cache.sets,
        ways=cache.ways,
        idx_bits=cache.idx_bits,
        **settings,
    )


def test_every_counter_and_drop_is_told(params):
    assert list(uses.DROPS) == [drop.name for drop in Drop]
    told = values(params)
    for counters, bank in (("port_counters", PORT_COUNTERS), ("pipe_counters", PIPE_COUNTERS)):
        assert [(k, name) for k, name, _ in told[counters]] == [
            (k, name) for k, (name, _) in enumerate(bank.counters)
        ]
        assert all(what for _, _, what in told[counters])


def test_the_text_is_whole(params):
    text = guide(params)
    assert text.count("\n## ") == 10 + 3 * bool(params.pipes)
    check_text(text, switch_registers(params))


def test_a_host_writes_the_same_registers(params):
    """At each command, all settings are those that the driver has written."""
    registers = Registers(guide(params))
    command = registers.places["configure"][0]
    driven, own = FakeBus({command}), FakeBus({command})
    routes = {node: node % params.ports for node in range(0, params.nodes, 3)}

    async def drive():
        driver = SwitchDriver(None, params, driven)
        settings = {"read_delay": 60, "response_delay": 70, "cache": 1, "concatenate": 0}
        await driver.set_up(9, routes, 2, 32, **settings)

    asyncio.run(drive())
    model = model_of(params, routes=routes, uplinks=2, number=9, concatenate=False)
    model.mac_base, model.ip_base = 0x0200 << 32, 0x0A000000
    writes = independent.set_up_writes(registers, model, 32, 60, 70)
    for access in writes + registers.command("clear_counters"):
        own.take(*access)
    assert [place[:2] for place in own.moments] == [place[:2] for place in driven.moments]
    assert settled(own.moments[-1]) == settled(driven.moments[-1])
    routed = {registers.places[name][0] for name in ("route_node", "route_port")}
    for mine, theirs in zip(own.moments, driven.moments, strict=True):
        assert {k: mine[2].get(k, 0) for k in routed} == {k: theirs[2].get(k, 0) for k in routed}


def test_modes_are_those_of_the_cache(params):
    cache = params.cache
    model = PropertyCache(segments=cache.segments, sets=cache.sets, ways=cache.ways)
    for mode, least, most, count in values(params)["modes"]:
        for size in (least, most):
            model.configure(size)
            assert (model.together, model.lines) == (mode, count)


def test_the_known_answer_is_the_models():
    params = DESIGN.params_of("tiny")
    known = values(params)["known"]
    model = model_of(params, routes={0: 0, 1: 1}, uplinks=2, number=known["switch"])
    model.mac_base, model.ip_base = int(known["mac"], 16), int(known["ip"], 16)
    model.configure(known["bytes"])
    for step in known["steps"]:
        left = model.take(step["kind"], step["port"], [(octets_of(step), False)])
        right = [(one["kind"], one["port"], octets_of(one), False) for one in step["left"]]
        assert sorted(left) == sorted(right)


def octets_of(told):
    """Return the bytes of a packet whose lines each begin with the number of their first."""
    return bytes.fromhex("".join(line.partition(":")[2] for line in told["packet"]))
