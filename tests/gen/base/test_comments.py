"""Checks what is read from comments of members, and that each has one where users read it."""

from enum import Enum

import pytest

from gen.base.comments import meanings, plain
from hdl.common.rings import Fault
from hdl.gather.engine_params import Outcome
from hdl.gather.params import ReadOrder
from hdl.p4sgd.host import control
from hdl.pcie import descriptors
from hdl.switch.tenancy_head import TenancyKind


class Colour(Enum):
    """Has a member with a comment of each form, and one without."""

    RED = 1  #: is like `blood`
    #: is like grass,
    #: and like leaves
    GREEN = 2
    BLUE = 3


def test_a_comment_is_behind_its_member_or_before_it():
    said = meanings(Colour)
    assert said == {Colour.RED: "is like `blood`", Colour.GREEN: "is like grass, and like leaves"}
    assert plain(said[Colour.RED]) == "is like blood"


@pytest.mark.parametrize(
    "enum", [control.Cause, descriptors.Cause, Fault, Outcome, ReadOrder, TenancyKind]
)
def test_every_member_that_a_guide_lists_has_a_meaning(enum):
    assert set(meanings(enum)) == set(enum)
