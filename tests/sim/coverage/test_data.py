import pytest

from sim.coverage.data import CoverageError, Place, Point, Toggle, plain, read
from tests.sim.coverage.sample import coverage_dat, line_of, record


def read_text(folder, text):
    path = folder / "coverage.dat"
    path.write_text(text)
    return list(read(path))


def test_points(tmp_path):
    points = read_text(tmp_path, coverage_dat(opened=4, closed=3, top_bit=2))
    assert points[0] == Point("gate_2", Toggle("open", 0, True), 4)
    assert points[4] == Point("gate_2", Toggle("level", 1, True), 2)
    assert points[5] == Point("gate_2", Toggle("level", 1, False), 0)
    assert points[8] == Point("gate_2", Toggle("$1", 0, True), 0)
    at = line_of("    if (open)")
    assert points[11] == Point("gate_2", Place(at, 5, "if", f"{at}-{at + 1}"), 4)
    assert points[12] == Point("gate_2", Place(at, 6, "else", ""), 3)


def test_models_beside_the_design_do_not_count(tmp_path):
    line = record("line", 1, 1, "block", 1, "1").replace("design.v", "source_1.sv")
    assert read_text(tmp_path, "# SystemC::Coverage-3\n" + line) == []


def test_names_as_in_verilog():
    assert plain("__02422") == "$22"
    assert plain("i___05Fpayload") == "i__payload"
    assert plain("plan__02eaddress") == "plan.address"


def test_toggle_in_words():
    assert Toggle("level", 3, rises=False).where == "level[3] falls"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# SystemC::Coverage-2\n", "no coverage data of Verilator's third format"),
        ("", "no coverage data"),
        ("# SystemC::Coverage-3\nC 'f' x\n", r"coverage.dat:2: not a coverage point: \"C 'f' x"),
        (
            "# SystemC::Coverage-3\n" + record("toggle", 1, 1, "open", 1),
            "coverage.dat:2: not a coverage point",
        ),
        ("# SystemC::Coverage-3\nC '\1f\2design.v' 1\n", "coverage.dat:2: not a coverage point"),
    ],
)
def test_rejects(tmp_path, text, message):
    with pytest.raises(CoverageError, match=message):
        read_text(tmp_path, text)
