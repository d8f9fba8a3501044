"""Tests what ends a build: each gate lets the stand-in's clean reports pass, and stops what is not.

The reports have the form of Vivado's: ``vivado/README.md`` names the sources.
"""

import pytest

from tests.gen.board.conftest import HERE, MODULES, reported_in_one_line

EMPTY = ("utilization", "drc", "methodology", "qor_assessment")


def changed(report, *changes):
    """Return the stub's text of a report with each pair of old and new replaced."""
    text = (HERE / "vivado" / f"{report}.rpt").read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return {"reports": f"{report} {{{text}}}"}


def strategies(reported):
    return [line.split()[1] for line in reported if line.startswith("launch_runs impl")]


def no_bitstream(folder):
    return not (folder / "build" / "sample_board.bit").exists()


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ({"slack": "-0.2"}, "setup is not met, by 0.2 ns: see reports/timing.rpt; hold is not met"),
        ({"slack": "none"}, "no path has a constraint of setup: see reports/timing.rpt"),
        ({"reports": "bus_skew {Slack (VIOLATED)}"}, "bus skew is not met 1 times"),
        (
            changed("pulse_width", ("4.000       3.450", "0.500       -0.050")),
            "a pulse is too short",
        ),
        (changed("timing_summary", ("1.725 ", "-0.02 ")), "a pulse is too short"),
        (
            changed("timing_summary", ("0.000                       0  ", "0.1  4 ")),
            "a pulse is too",
        ),
        (changed("timing_summary", ("WPWS(ns)", "WPWS")), "no line of setup, hold and pulses"),
        (
            {"reports": "route_status {# of nets with routing errors... :  3 :}"},
            "3 nets are not routed",
        ),
        ({"reports": "route_status {well}"}, "does not say how many nets have errors"),
        ({"drc": "Error"}, "design rules: 1 of severity Error: see reports/drc.rpt"),
        ({"drc": "{Critical Warning}"}, "design rules: 1 of severity Critical Warning"),
    ],
)
def test_no_strategy_passes(how, says, copy, vivado):
    """Each of the four is tried, and improved once."""
    result, reported = vivado(copy, "bitstream", modules=MODULES, **how)
    assert result.returncode == 2
    line = reported_in_one_line(result)
    assert line.startswith("no strategy passes; the last: ")
    assert says in line
    assert sum(line.startswith("phys_opt_design") for line in reported) == 4
    assert strategies(reported) == [f"impl_{k}" for k in range(1, 5)]
    assert no_bitstream(copy)


def crossing(rule, severity, path):
    """Return a report in which the path that CDC-6 is about has another rule and end."""
    return changed(
        "cdc",
        ("CDC-6  Warning       1", f"{rule}  {severity}       1"),
        ("2  CDC-6  Warning ", f"2  {rule}  {severity} "),
        ("clocking/inst/b/C  reset/first_reg[1:0]/D", path),
    )


def check(name, count, listed, clean=0):
    """Return a report of check_timing in which a check has found something."""
    heading = f"checking {name} ({clean})\n-"
    result = f"checking {name} ({count})\n There are {count} of it. (HIGH)\n\n{listed}\n-"
    return changed(
        "check_timing",
        (heading, result),
        (f"checking {name} ({clean})", f"checking {name} ({count})"),
    )


def finding(severity, names):
    return changed(
        "methodology",
        ("TIMING-18#1 Warning", f"TIMING-17#1 {severity}"),
        ("pcie_reset_n", names),
    )


def clock(place, period, source="clocking/inst/x"):
    return {"clocks": f"clk_out1_clocking {{{period} {source} {place}}}"}


def message(text):
    return changed("messages", ("INFO: [Common 17-83]", f"CRITICAL WARNING: {text}\nINFO:"))


NOTHING = "[Vivado 12-4739] set_bus_skew:No valid object(s) found for '-to {x}'."
OWN = "[/home/a/package/xdc/crossings.xdc:12]"
VENDOR = "[/home/a/package/build/project/x.gen/sources_1/ip/hbm/xdc/hbm.xdc:63]"


@pytest.mark.parametrize(
    ("how", "says"),
    [
        *(({"reports": f"{report} {{}}"}, f"reports/{report}.rpt is empty") for report in EMPTY),
        (
            check("no_clock", 2, "core/a_reg/C\nmac/inst/b/C"),
            "1 no_clock: see reports/check_timing",
        ),
        (check("no_clock", 2, "core/a_reg/C"), "2 no_clock"),
        (check("unconstrained_internal_endpoints", 1, "core/a_reg/D"), "1 unconstrained_internal"),
        (check("no_input_delay", 2, "pcie_reset_n\nstrange", clean=1), "1 no_input_delay"),
        (check("no_output_delay", 3, "hbm_cattrip", clean=1), "2 no_output_delay"),
        *(
            (check(name, 1, "core/a_reg/C"), f"1 {name}")
            for name in (
                "constant_clock",
                "multiple_clock",
                "generated_clocks",
                "loops",
                "partial_input_delay",
                "partial_output_delay",
                "latch_loops",
            )
        ),
        ({"reports": "check_timing well"}, "check_timing.rpt does not count no_clock"),
        (clock("nowhere", 4.0), "0 clocks at clocking/clk_out1, not one"),
        ({"clocks": "b {4.0 mac/x clocking/clk_out1}"}, "2 clocks at clocking/clk_out1, not one"),
        (clock("clocking/clk_out1", 4.01), "the clock at clocking/clk_out1 has 4.01 ns, not 4.000"),
        (clock("clocking/clk_out1", 4.0, "core/q_reg/Q"), "begins at core/q_reg/Q, where the card"),
        (
            crossing("CDC-10", "Critical", "core/a/C  reset/first_reg/D"),
            "CDC-10: 1 paths, the first",
        ),
        (crossing("CDC-1", "Critical", "mac/a/C  core/b_reg/D"), "from mac/a/C to core/b_reg/D"),
        (crossing("CDC-6", "Warning", "mac/a/C  clocking/inst/b_reg/D"), "CDC-6: 1 paths"),
        (changed("cdc", ("  2  CDC-6", "  2  other")), "counts 1 findings and lists 0"),
        ({"reports": "cdc well"}, "clock_crossings.rpt does not count its findings"),
        (finding("Critical Warning", "core/a_reg/C"), "methodology: TIMING-17, Critical Warning"),
        (finding("Error", "mac/inst/a and core/a_reg/C"), "methodology: TIMING-17, Error"),
        (finding("Critical Warning", "clock b"), "methodology: TIMING-17"),
        (changed("methodology", ("found: 1", "found: 2")), "counts 2 findings and lists 1"),
        ({"reports": "methodology well"}, "does not say how many findings it has"),
    ],
)
def test_constraints_end_the_build_at_once(how, says, copy, vivado):
    """No other strategy is tried, as none helps."""
    result, reported = vivado(copy, "bitstream", modules=MODULES, **how)
    assert result.returncode == 2
    assert says in reported_in_one_line(result)
    assert strategies(reported) == ["impl_1"]
    assert no_bitstream(copy)


@pytest.mark.parametrize(
    "how",
    [
        {},
        check("no_clock", 2, "mac/inst/a/C\nmac/inst/b/C"),
        check("pulse_width_clock", 1, "core/a_reg/C"),
        check("no_input_delay", 2, "pcie_reset_n\nclk_100mhz_0_n", clean=1),
        crossing("CDC-11", "Critical", "mac/inst/a/C  mac/inst/b/D  N"),
        {"reports": "cdc {CDC Report\n\nAll paths are Safely Timed.}"},
        finding("Critical Warning", "mac/inst/a/C and mac/inst/b/C"),
        finding("Warning", "core/a_reg/C"),
        {"reports": "pulse_width {Pulse Width Checks}"},
        message(f"{NOTHING} {VENDOR}"),
    ],
)
def test_the_build_goes_on(how, copy, vivado):
    """What lies in the vendor's IP and what is explained does not end it."""
    result, reported = vivado(copy, "bitstream", modules=MODULES, **how)
    assert result.returncode == 0, result.stderr
    assert strategies(reported) == ["impl_1"]


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        (f"{NOTHING} {OWN}", True),
        (NOTHING, True),
        (f"[Common 17-55] 'set_property' expects at least one object. {OWN}", True),
        (f"[Designutils 20-1307] Command 'if' is not supported. {OWN}", True),
        ("[Constraints 18-1056] Clock 'b' completely overrides clock 'board'.", True),
        (f"[Constraints 18-1056] Clock 'b' overrides clock 'c'.\nNew: create_clock {OWN}", True),
        (
            f"[Constraints 18-1056] Clock 'b' overrides clock 'c'.\nNew: create_clock {VENDOR}",
            False,
        ),
        (f"[Other 1-1] What is no matter. {OWN}", False),
    ],
)
def test_messages_about_the_package_s_constraints_end_the_build(text, ends, copy, vivado):
    result, reported = vivado(copy, "bitstream", modules=MODULES, **message(text))
    assert result.returncode == (2 if ends else 0)
    assert no_bitstream(copy) == ends
    if ends:
        assert reported_in_one_line(result) == f"synth_1: CRITICAL WARNING: {text.splitlines()[0]}"
        assert strategies(reported) == []


def test_messages_that_are_not_written_end_the_build(copy, vivado):
    text = "Message 'Vivado 12-4739' appears 100 times"
    cut = changed("messages", ("INFO: [Common 17-83]", f"INFO: [Common 17-14] {text} and"))
    result, _ = vivado(copy, "bitstream", modules=MODULES, **cut)
    assert reported_in_one_line(result) == f"synth_1: {text}"


def test_a_clock_that_constraints_create_keeps_its_name(copy, vivado):
    path = copy / "xdc" / "clocks.xdc"
    path.write_text(path.read_text().replace("-name board", "-name other"))
    result, _ = vivado(copy, "bitstream", modules=MODULES)
    assert reported_in_one_line(result) == "the clock at clk_100mhz_0_p is other, not board"


def test_every_bus_skew_is_looked_at(copy, vivado):
    """If a top sets two, a report with one does not pass."""
    path = copy / "tcl" / "reports.tcl"
    path.write_text(path.read_text().replace("$met < 0", "$met < 2"))
    result, _ = vivado(copy, "bitstream", modules=MODULES, skews="1")
    assert "reports/bus_skew.rpt has 1 of" in result.stderr
    result, _ = vivado(copy, "bitstream", modules=MODULES, skews="2")
    assert result.returncode == 0
