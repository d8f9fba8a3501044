import pytest

from gen.catalogue import DESIGNS, load
from gen.errors import UserError
from gen.sweep.sources import ROOT
from gen.sweep.subject import SUBJECTS, find_subject


@pytest.mark.parametrize("design", DESIGNS)
def test_every_design_can_be_swept(design):
    subject = find_subject(design)
    assert set(subject.maximise) <= subject.metrics().keys()
    assert not subject.counted.keys() & subject.calculated.keys()
    for source in subject.sources({"rtl", "synth"}):
        assert (ROOT / source).exists(), source
    component = load(DESIGNS[design].component).__module__
    folders = tuple(name.replace("/", ".") for name in subject.hardware_sources)
    assert component.startswith(folders)


def test_origins_are_what_metrics_need():
    worker = find_subject("p4sgd-worker")
    assert worker.origins(["luts", "ideal_cycles_per_epoch"]) == {"synth"}
    assert worker.origins(["cycles", "fits"]) == {"rtl", "synth"}
    assert worker.origins([]) == set()
    with pytest.raises(UserError, match="did you mean cycles"):
        worker.origins(["cycels"])


def test_sources_follow_the_origins():
    worker = find_subject("p4sgd-worker")
    assert "gen/synth" not in worker.sources({"rtl"})
    assert "sim/p4sgd/train.py" not in worker.sources({"synth"})
    assert "hdl/p4sgd" in worker.sources(set())


def test_designs_without_a_subject_are_told(monkeypatch):
    monkeypatch.delitem(SUBJECTS, "p4sgd-engine")
    with pytest.raises(UserError, match="cannot be swept yet"):
        find_subject("p4sgd-engine")
    with pytest.raises(UserError, match="did you mean p4sgd-worker"):
        find_subject("p4sgd-workr")
