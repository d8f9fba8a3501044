import pytest

from sim.harness.cache import CHECKOUT
from sim.mutation.capture import CaptureError, capture
from tests.sim.mutation.sample import Tally, TallyParams


def test_notes_every_simulation_once(monkeypatch, tmp_path):
    monkeypatch.setenv("INGATHER_CACHE", str(tmp_path))
    result = capture([CHECKOUT / "tests/sim/mutation/weak_test.py"], "key", 1)
    assert [(item.component, item.params.bits, item.plusargs) for item in result] == [
        (Tally, 12, ()),
        (Tally, 4, ()),
        (Tally, 4, ("+other",)),
    ]
    assert result[0].test_module == "tests.sim.mutation.weak_test"
    assert result[1].params == TallyParams()
    assert not (tmp_path / "sim").exists()  # nothing was built
    monkeypatch.setattr("sim.mutation.capture.run_tests", None)
    assert capture([CHECKOUT / "tests/sim/mutation/weak_test.py"], "key", 1) == result


def test_what_is_built_apart_is_noted_if_its_component_is_known(monkeypatch, tmp_path):
    monkeypatch.setenv("INGATHER_CACHE", str(tmp_path))
    (result,) = capture([CHECKOUT / "tests/sim/mutation/apart_test.py"], "key", 1)
    assert (result.component, result.params) == (Tally, TallyParams())
    assert result.options == {"registers": ["total"]}


def test_what_is_no_test_file(monkeypatch, tmp_path):
    monkeypatch.setenv("INGATHER_CACHE", str(tmp_path))
    broken = tmp_path / "test_broken.py"
    broken.write_text("import nothing_of_that_name\n")
    with pytest.raises(CaptureError, match=r"pytest fails on test_broken.py:\s"):
        capture([broken], "key", 1)
