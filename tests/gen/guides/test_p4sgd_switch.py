"""Checks that the guide of P4SGD's switch, which is MINA's, is whole and has the RTL's codes.

What it tells of the hardware is checked by ``tests/gen/software/test_switches_on_rtl.py``.
"""

import pytest

from gen.designs.catalogue import find_design
from gen.guides import p4sgd_switch_uses as uses
from gen.guides.p4sgd_switch import guide, values
from hdl.p4sgd.switch.registers import switch_registers
from hdl.p4sgd.switch.tenant_params import TenantVerdict
from hdl.switch.params import WHY_REFUSED, Refusal
from hdl.switch.tenancy_head import REASONS, Reason
from tests.gen.guides.bench import check_text

DESIGNS = [find_design(name) for name in ("p4sgd-switch", "mina-switch")]
PRESETS = [(design, preset) for design in DESIGNS for preset in design.presets]


@pytest.fixture(params=PRESETS, ids=lambda pair: f"{pair[0].name}-{pair[1]}")
def params(request):
    design, preset = request.param
    return design.params_of(preset)


def test_every_verdict_reason_and_kind_is_reported(params):
    stored = {name for _, name, _ in values(params)["verdicts"]}
    own = set(params.verdict.__members__) - {"NONE"}
    assert stored == (own if params.parents or not params.tenants else own - set(uses.OF_PARENTS))
    assert set(uses.VERDICTS) == set(TenantVerdict.__members__) - {"NONE"}
    assert list(WHY_REFUSED) == list(Refusal)
    assert list(REASONS) == list(Reason)


def test_the_text_is_whole(params):
    text = guide(params)
    assert text.count("\n## ") == 9 + params.tenants + params.parents
    check_text(text, switch_registers(params))


def test_shadow_copies_leave_nothing_to_acknowledge():
    text = guide(DESIGNS[0].params_of("tiny", shadow=True))
    assert "two copies of a sum, as SwitchML does" in text
    assert "arrives after the sum of use n is complete" in text
    assert "| acknowledgement |" not in text
    assert "EARLY" in text
    check_text(text, switch_registers(DESIGNS[0].params_of("tiny", shadow=True)))


def test_a_narrow_build_has_no_known_answer():
    text = guide(DESIGNS[0].params_of("tiny", lanes=2, value_bits=8))
    assert "adds only the first 2 lanes, of 8 bits each" in text
    assert "A known answer" not in text
