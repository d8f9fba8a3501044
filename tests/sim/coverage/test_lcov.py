from sim.coverage.lcov import write
from sim.coverage.merge import collect
from tests.sim.coverage.sample import VERILOG, WIDE, coverage_dat, line_of, record, rule, write_run

EXPECTED = """\
TN:hdl.common.gate.Gate
SF:rtl/gate_2.v
BRDA:10,5,0,4
BRDA:10,5,1,0
BRF:2
BRH:1
DA:9,9
DA:10,4
DA:11,4
LF:3
LH:3
end_of_record
"""


def test_tracefile(tmp_path):
    runs = tmp_path / "coverage-runs"
    write_run(runs, "run-a", coverage_dat(opened=4, closed=0, top_bit=2))
    rules = [rule(kind="line", text=r"^\s*reg\b")]
    path = write(collect(runs), rules, tmp_path / "report")
    assert path.read_text() == EXPECTED
    assert (path.parent / "rtl" / "gate_2.v").read_text() == VERILOG


def test_both_sides_make_a_branch(tmp_path):
    at = line_of("  assign still = 1'h0;")
    sides = [("cond_then", 9, 5), ("cond_else", 10, 0), ("else", 30, 7)]
    points = [record("branch", at, column, what, hits) for what, column, hits in sides]
    write_run(tmp_path / "coverage-runs", "run-a", "# SystemC::Coverage-3\n" + "".join(points))
    text = write(collect(tmp_path / "coverage-runs"), [], tmp_path / "report").read_text()
    # The last is a block of statements behind `else`, whose `if` is counted elsewhere.
    assert "BRDA:13,9,0,5\nBRDA:13,9,1,0\nBRF:2\nBRH:1\n" in text


def test_modules_of_one_name_have_a_file_each(tmp_path):
    runs = tmp_path / "coverage-runs"
    write_run(runs, "one", coverage_dat(1, 1, 1))
    write_run(runs, "two", coverage_dat(1, 1, 1), written=WIDE)
    text = write(collect(runs), [], tmp_path / "report").read_text()
    assert "SF:rtl/gate_2.v\n" in text
    assert "SF:rtl/gate_2-2.v\n" in text


def test_nothing_is_an_empty_file(tmp_path):
    assert write({}, [], tmp_path).read_text() == ""
