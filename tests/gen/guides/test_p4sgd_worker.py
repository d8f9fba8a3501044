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
    assert text.count("\n## ") == 13


def test_several_classes_are_explained():
    """There is no known answer, which is of a single class."""
    params = DESIGN.params_of("u280", engines=10, classes=5)
    text = guide(params)
    check_text(text, worker_registers(params))
    assert text.count("\n## ") == 12
    assert "| N | sets of engines of a worker; they share the worker's features | 2 |" in text
    assert "`label_address` + 4 ((b x 5 + z) x K + k)" in text
    assert "ceil(ceil(A / K) x K x classes / 8)" in text
