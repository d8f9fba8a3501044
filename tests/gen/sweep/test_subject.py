import pytest

from gen.catalogue import DESIGNS, load
from gen.errors import UserError
from gen.sweep.subject import SUBJECTS, find_subject
from sim.harness.closure import digest_of


@pytest.mark.parametrize("design", DESIGNS)
def test_every_design_can_be_swept(design):
    subject = find_subject(design)
    assert set(subject.maximise) <= subject.metrics().keys()
    assert not subject.counted.keys() & subject.calculated.keys()
    assert subject.hardware == load(DESIGNS[design].component).__module__
    assert digest_of(subject.sources({"rtl", "synth"}))


def test_origins_are_what_metrics_need():
    worker = find_subject("p4sgd-worker")
    assert worker.origins(["luts", "ideal_cycles_per_epoch"]) == {"synth"}
    assert worker.origins(["cycles", "fits"]) == {"rtl", "synth"}
    assert worker.origins([]) == set()
    with pytest.raises(UserError, match="did you mean cycles"):
        worker.origins(["cycels"])


def test_designs_without_a_subject_are_told(monkeypatch):
    monkeypatch.delitem(SUBJECTS, "p4sgd-engine")
    with pytest.raises(UserError, match="cannot be swept yet"):
        find_subject("p4sgd-engine")
    with pytest.raises(UserError, match="did you mean p4sgd-worker"):
        find_subject("p4sgd-workr")
