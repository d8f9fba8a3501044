"""Checks that a SwitchGNN switch's guide tells all that there is, for builds of every kind.

That its known answer is the hardware's is ``tests/gen/software/test_switchgnn_switch_on_rtl.py``.
"""

import pytest

from gen.base.comments import meanings
from gen.designs.catalogue import find_design
from gen.guides import switchgnn_switch_uses as uses
from gen.guides.guide import little_rows
from gen.guides.switchgnn_frames import KINDS
from gen.guides.switchgnn_switch import guide, values
from gen.software.switchgnn_switch import software
from hdl.switch.params import Refusal
from hdl.switchgnn.protocol import Head, Kind
from hdl.switchgnn.switch.banks.aggregator_params import TableError
from hdl.switchgnn.switch.judge.verdict import LinkVerdict
from hdl.switchgnn.switch.meanings import REASONS
from hdl.switchgnn.switch.registers import gnn_switch_registers
from sim.switchgnn.wire import from_octets
from tests.gen.guides.bench import check_text, numbers_of, octets_of

DESIGN = find_design("switchgnn-switch")
BUILDS = {preset: DESIGN.params_of(preset) for preset in DESIGN.presets}
BUILDS["links"] = DESIGN.params_of("tiny", links=1)


@pytest.fixture(params=BUILDS)
def params(request):
    return BUILDS[request.param]


def test_every_number_and_kind_is_reported(params):
    assert set(uses.VERDICTS) == set(LinkVerdict.__members__) - {"NONE"}
    assert list(REASONS) == list(Refusal)
    assert list(meanings(TableError)) == list(TableError)
    assert list(KINDS) == list(Kind)
    reported, build = values(params), software(params).build
    assert len(reported["verdicts"]) == 18 + 2 * bool(params.links)
    assert numbers_of(reported["verdicts"]) == build["verdicts"]
    assert numbers_of(reported["reasons"]) == {item.name: item.value for item in Refusal}
    errors = {item.name: item.value for item in TableError}
    assert numbers_of(reported["errors"]) | {"NONE": 0} == errors
    for name in ("port_counters", "total_counters"):
        assert tuple(numbers_of(reported[name])) == build[name]
        assert [*numbers_of(reported[name]).values()] == [*range(len(build[name]))]
    fields = {"P": "banks", "D": "depth", "L": "lanes", "W": "window", "J": "jobs"}
    fixed = build["fixed"]
    assert {n: reported[n] for n in fields} == {n: fixed[field] for n, field in fields.items()}


def test_the_text_is_whole(params):
    text = guide(params)
    assert text.count("\n## ") == 10 + bool(params.links)
    check_text(text, gnn_switch_registers(params))


def test_the_known_answer_is_of_frames(params):
    reported = values(params)
    sizes = {name: size for _, name, _, _, size, _ in reported["kinds"]}
    for step in reported["known"]["steps"]:
        for item in (step, *step["left"]):
            frame = from_octets(octets_of(item), params.lanes)
            assert frame.bm in (1, 2)
            assert item["bytes"] == sizes[frame.kind.name]


def test_bits_of_a_field_across_bytes_are_reported():
    uses_of = {name: name for name, _ in Head.as_shape()}
    result = {row["field"]: row["bytes"] for row in little_rows(Head.as_shape(), uses_of)}
    assert result["no_flags"] == "32, bits 7:1, and 33"
    assert result["ecn"] == "32, bit 0"
