"""Names of systems that are wrong are refused in a line; so are those that a switch has not."""

from dataclasses import replace

import pytest

from gen.base.settings import make_params
from hdl.network_switch.params import NetworkSwitchParams
from hdl.network_switch.presets import PRESETS
from sim.network_switch.session import SYSTEMS, TogetherSession, TogetherWorkload
from sim.network_switch.systems import SET_UP

TINY = make_params(NetworkSwitchParams, PRESETS["tiny"])


def test_each_system_can_be_set_up():
    assert (*SET_UP,) == SYSTEMS == TogetherWorkload().named
    assert TogetherWorkload(systems="netsparse,p4sgd").named == ("p4sgd", "netsparse")


@pytest.mark.parametrize(
    ("requested", "text"),
    [
        ({"systems": "p4sgd,mina"}, "systems must be all, or of forwarding, .*: 'mina'"),
        ({"systems": ""}, "systems must be all, .*: ''"),
        ({"first": "forwarding"}, "first must be one of p4sgd, .*: 'forwarding'"),
    ],
)
def test_wrong_names_are_refused(requested, text):
    with pytest.raises(ValueError, match=text):
        TogetherWorkload(**requested)


def test_systems_that_the_switch_has_not_are_refused():
    params = replace(TINY, has_p4sgd=False)
    with pytest.raises(ValueError, match="the switch has no engine p4sgd"):
        TogetherSession(params, TogetherWorkload())
    with pytest.raises(ValueError, match="the switch has no engine p4sgd"):
        TogetherSession(params, TogetherWorkload(systems="allreduce", first="p4sgd"))
    assert TogetherSession(params, TogetherWorkload(systems="allreduce"))
