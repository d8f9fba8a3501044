"""Reads files of evidence that are whole, damaged, or something else."""

import json

import pytest

from gen.base.errors import UserError
from gen.synth.evidence import read_evidence
from gen.synth.resources import Resources
from gen.synth.synthesis import Synthesis
from tests.gen.synth.packed import ESTIMATE, HBM, SYNC, packed


@pytest.fixture
def file(tmp_path):
    def write(text):
        path = tmp_path / "evidence.txt"
        path.write_text(text)
        return path

    return write


def test_everything_is_read(file):
    evidence = read_evidence(file(packed()))
    assert (evidence.package["design"], evidence.vivado) == ("p4sgd-engine", "2022.1.1")
    assert evidence.synthesis.clocks == (SYNC, HBM)
    assert evidence.synthesis.total == Resources(lut=120, ff=8)
    assert evidence.timing.wns == -0.213
    assert evidence.clocks == {"sync": "core_clk"}
    assert len(evidence.utilization) == 1
    assert evidence.findings == {
        "check_timing": ("2. checking loops (3)",),
        "messages of the runs": (),
    }


def test_an_estimate_is_what_it_was_described_as():
    again = Synthesis.of(json.loads(json.dumps(ESTIMATE.describe())))
    assert again.describe() == ESTIMATE.describe()


def test_what_vivado_has_not_reported_is_missing(file):
    text = packed(None, timing=None, utilization_hierarchical=None)
    evidence = read_evidence(file(text))
    assert (evidence.synthesis, evidence.timing, evidence.utilization) == (None, None, ())


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda text: text[:-40], "is damaged: it does not end with the number of its lines"),
        (lambda text: text.replace("2022.1.1\n", ""), "is damaged"),
        (lambda text: text.replace("evidence 1", "evidence 2"), "has format 2; this version reads"),
        (lambda text: "Vivado\n" + text, "is no evidence of a build"),
        (lambda text: "", "is no evidence of a build"),
        (lambda text: text.replace("== package", "== other"), "is damaged: KeyError, 'package'"),
        (lambda text: text.replace('"estimate"', '"other"'), "is damaged: KeyError, 'estimate'"),
        (lambda text: text.replace('{"design"', '["design"'), "is damaged: JSONDecodeError"),
        (lambda text: text.replace('"mhz"', '"ghz"'), "is damaged: KeyError, 'mhz'"),
        (lambda text: text.replace("sync core_clk", "sync"), "is damaged: ValueError"),
        (lambda text: text.replace("WNS(ns)", "WNS"), "is no timing summary"),
        (lambda text: text.replace("Total LUTs", "LUTs"), "hierarchical is no utilization report"),
    ],
)
def test_what_is_no_evidence_is_reported_in_a_line(change, says, file):
    path = file(change(packed()))
    with pytest.raises(UserError) as error:
        read_evidence(path)
    assert str(error.value).startswith(str(path))
    assert says in str(error.value)
    assert "\n" not in str(error.value)
