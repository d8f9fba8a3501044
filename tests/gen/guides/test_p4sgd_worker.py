"""Checks that a worker's guide is whole, and has all settings and causes.

What it tells of memory and results is checked by ``tests/gen/software/test_p4sgd_worker.py`` and
``test_p4sgd_job_on_rtl.py`` there.
"""

import re

import pytest

from gen.designs.catalogue import find_design
from gen.guides.p4sgd_worker import CAUSES, WRITTEN, guide
from hdl.p4sgd.host.control import Cause
from hdl.p4sgd.host.registers import SETTING_REGISTERS

DESIGN = find_design("p4sgd-worker")


def test_every_setting_and_cause_is_told():
    fields = {field.name for one in SETTING_REGISTERS for field in one.fields}
    assert fields - set(WRITTEN) == {"memory_timeout"}
    assert set(Cause) - set(CAUSES) == {Cause.NONE}


@pytest.mark.parametrize("preset", DESIGN.presets)
def test_the_text_is_whole(preset):
    text = guide(DESIGN.params_of(preset))
    assert not re.search(r"\{[{%]|None|\bTODO\b", text)
    assert text.count("\n## ") == 13
