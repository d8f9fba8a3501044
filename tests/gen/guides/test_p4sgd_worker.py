"""Checks that a worker's guide is whole, and has all registers.

What it tells of memory and results is checked by ``tests/gen/software/test_p4sgd_worker.py`` and
``test_p4sgd_job_on_rtl.py`` there.
"""

import pytest

from gen.designs.catalogue import find_design
from gen.guides.p4sgd_worker import guide
from hdl.p4sgd.host.registers import worker_registers
from tests.gen.guides.bench import check_text

DESIGN = find_design("p4sgd-worker")


@pytest.mark.parametrize("preset", DESIGN.presets)
def test_the_text_is_whole(preset):
    params = DESIGN.params_of(preset)
    text = guide(params)
    check_text(text, worker_registers(params))
    # There is no known answer of several classes.
    assert text.count("\n## ") == (13 if params.classes == 1 else 12)


def test_several_classes_are_explained():
    text = guide(DESIGN.params_of("u280-classes"))
    assert "| N | sets of engines of a worker; they share the worker's features | 3 |" in text
    assert "`label_address` + 4 ((b x 5 + z) x K + k)" in text
    assert "ceil(ceil(A / K) x K x classes / 8)" in text
