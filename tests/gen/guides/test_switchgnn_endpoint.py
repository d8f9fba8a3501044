"""Checks that a SwitchGNN endpoint's guide tells all there is, with the golden model's layout.

That its known answer is the hardware's is
``tests/gen/software/test_switchgnn_endpoint_on_rtl.py``.
"""

import pytest

from gen.base.comments import meanings
from gen.designs.catalogue import find_design
from gen.guides import switchgnn_endpoint_uses as uses
from gen.guides.switchgnn_endpoint import guide, values
from hdl.switchgnn.endpoint.bundles import Cause, State
from hdl.switchgnn.endpoint.counters import ENDPOINT_COUNTERS
from hdl.switchgnn.endpoint.registers import Counter, constants, endpoint_registers
from sim.switchgnn.wire import from_octets
from tests.gen.guides.bench import check_text, octets_of

DESIGN = find_design("switchgnn-endpoint")


@pytest.fixture(params=DESIGN.presets)
def params(request):
    return DESIGN.params_of(request.param)


def test_every_state_cause_and_counter_is_reported(params):
    assert list(meanings(State)) == list(State)
    assert list(meanings(Cause)) == list(Cause)
    assert list(uses.COUNTED) == [name for name, _ in ENDPOINT_COUNTERS.counters]
    reported = values(params)
    for name, enum in (("states", State), ("causes", Cause), ("counters", Counter)):
        numbers = {number: reported_name.lower() for number, reported_name, _ in reported[name]}
        assert numbers == {item.value: item.name.lower() for item in enum}
    fields = {"L": "lanes", "W": "window", "K": "aggregators", "C": "copies"}
    assert {name: reported[name] for name in fields} == {
        name: constants(params)[field] for name, field in fields.items()
    }


def test_the_text_is_whole(params):
    text = guide(params)
    assert text.count("\n## ") == 10
    check_text(text, endpoint_registers(params))


def test_the_known_answer_is_of_frames(params):
    for step in values(params)["known"]["steps"]:
        assert from_octets(octets_of(step), params.lanes).bm == values(params)["known"]["bm"]
