"""Runs ``ingather schedule`` as a user does."""

import csv
import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from sim.mina.files import JOBS, SUMMARY, TIMELINE
from sim.mina.rtl import comparison
from sim.mina.rtl.comparison import Agreement
from tests.gen.commands.running import refused, running

FOUR_JOBS = [
    *("--rtl", "--jobs", Path(comparison.__file__).with_name("four_jobs.json")),
    *("--topology", "2,2,2:1,1,2", "--placement", "first", "--ratio", 1.5, "--bandwidth", 8e9),
]
RTL = ["--rtl", "--count", "1", "--topology", "2,2,2:1,1,2"]
FEW = ["--count", "40", "--topology", "4,4,16:1,4,4"]


ingather = running("schedule")


def strict(path):
    def refuse(constant):
        raise AssertionError(f"{path.name} has {constant}")

    return json.loads(path.read_text(), parse_constant=refuse)


def test_leaves_tables_timeline_and_page(ingather, tmp_path):
    status, out, err = ingather(*FEW, "--gpu-speed", 1.5, "--ratio", 1.5, "-o", "made")
    assert (status, err) == (0, "")
    built = tmp_path / "made"
    summary = strict(built / SUMMARY)
    assert 0.5 < summary["score"] <= summary["bound"] <= 1 + 1e-9
    assert f"{summary['score']:.4f}" in out
    assert summary["workload"]["placement"] == "aware"
    assert set(summary["seconds_by_phase"]) == {"placement", "trees", "events", "bound"}
    rows = list(csv.DictReader((built / JOBS).open()))
    assert len(rows) == summary["jobs"] == 40
    total = sum(int(row["hosts"]) * float(row["seconds"]) for row in rows)
    used = sum(int(row["hosts"]) * float(row["seconds_of_ina"]) for row in rows)
    assert used / total == pytest.approx(summary["utilisation"])
    events = strict(built / TIMELINE)["traceEvents"]
    jobs = [event for event in events if event.get("cat") == "job"]
    assert len(jobs) == 40
    assert {event["cat"] for event in events if event["ph"] == "X"} == {"job", "ina", "plain"}
    for thread in {(event["pid"], event["tid"]) for event in jobs}:  # a host runs one at a time
        own = sorted((e["ts"], e["dur"]) for e in jobs if (e["pid"], e["tid"]) == thread)
        for (begun, took), (after, _) in pairwise(own):
            assert begun + took <= after + 1e-3
    page = (built / "index.html").read_text()
    assert page.count('src="data:image/png;base64,') == 4
    files = strict(built / "manifest.json")["files"]
    assert {path.name for path in built.iterdir()} == {"manifest.json", *files}


def test_a_score_that_is_undefined_says_so(ingather, tmp_path):
    status, out, _ = ingather(*FEW, "--bandwidth", 25e9, "-o", "made")
    assert status == 0
    assert "the score is undefined" in out
    assert strict(tmp_path / "made" / SUMMARY)["score"] == "undefined"
    rows = list(csv.DictReader((tmp_path / "made" / JOBS).open()))
    assert {row["score"] for row in rows} == {"undefined"}
    page = (tmp_path / "made" / "index.html").read_text()
    assert "<b>undefined</b>" in page
    for text in (page, (tmp_path / "made" / JOBS).read_text()):
        assert "nan" not in text.split("base64")[0].lower().split(">")


AGREEMENT = Agreement(
    latency_cycles=335.0,
    frame_cycles=8.0,
    cycles=1000,
    grants=12,
    differs_at=None,
    steps=17,
    worst_step=0.0018,
    assumed_rate=12e9,
    plain_rate=8e9,
)


@pytest.mark.parametrize(
    ("agreement", "status", "says"),
    [
        (AGREEMENT, 0, "12 grants in the same order; 17 steps differ by at most 0.18%"),
        (replace(AGREEMENT, differs_at=3), 1, "NOT in the same order, from grant 4 on"),
        (replace(AGREEMENT, worst_step=0.021), 1, "17 steps differ by at most 2.10%"),
    ],
)
def test_switches_that_do_otherwise_are_status_1(
    ingather, tmp_path, monkeypatch, agreement, status, says
):
    monkeypatch.setattr(comparison, "compare", lambda requested, folder: agreement)
    result, out, _ = ingather(*FOUR_JOBS, "-o", "made")
    assert result == status
    assert says in " ".join(out.split())
    assert says in (tmp_path / "made" / "index.html").read_text()
    assert strict(tmp_path / "made" / "rtl.json")["holds"] == (status == 0)
    assert "rtl.json" in strict(tmp_path / "made" / "manifest.json")["files"]


@pytest.mark.parametrize(
    ("cycles", "says"),
    [
        (8.0, "INA moves 1.00 GB/s on these switches at 250 MHz, and the schedule assumes 12.00"),
        (8.0, "and 8.00 without INA: here INA only delays jobs"),
        (0.8, "--ratio 1.25 is what these switches do"),
    ],
)
def test_the_rate_of_the_hardware_stands_beside_the_assumed_one(
    ingather, tmp_path, monkeypatch, cycles, says
):
    agreement = replace(AGREEMENT, frame_cycles=cycles)
    monkeypatch.setattr(comparison, "compare", lambda requested, folder: agreement)
    _, out, _ = ingather(*FOUR_JOBS, "-o", "made")
    assert says in " ".join(out.split())
    assert says in (tmp_path / "made" / "index.html").read_text()
    assert strict(tmp_path / "made" / "rtl.json")["rate"] == pytest.approx(8e9 / cycles)


@pytest.mark.long
def test_runs_the_jobs_on_switches_in_hardware(ingather, tmp_path):
    status, out, err = ingather(*FOUR_JOBS, "--record", "jobs.json", "-o", "made")
    assert (status, err) == (0, "")
    rtl = strict(tmp_path / "made" / "rtl.json")
    assert rtl["grants"] > 15
    (line,) = (line for line in out.splitlines() if line.startswith("recorded the jobs'"))
    options = line.partition(": ")[2].partition(" schedules")[0].split()
    again = [*FOUR_JOBS[:1], *FOUR_JOBS[3:7], *options, "-o", "again"]
    status, _, err = ingather(*again)
    assert (status, err) == (0, "")
    assert strict(tmp_path / "again" / "rtl.json")["grants"] == rtl["grants"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--jobs", "bad.json"], "no model 'GPT'"),
        (["--jobs", "missing.json"], "missing.json: no such file"),
        (["--topology", "4,2:1,2"], "at most the 8 of the cluster: job 2 has 16; try"),
        (["--topology", "4,2:1"], "as many numbers of links up as down"),
        (["--ratio", "0.5"], "--ratio"),
        (["--ratio", "nan"], "--ratio"),
        (["--alpha", "-1"], "--alpha"),
        (["--candidates", "0"], "--candidates"),
        (["--trace", "11"], "--trace"),
        (["--trees", "oak"], "--trees"),
        (["--capacity", "2", "--lock", "group"], "--lock tree"),
        (["--rtl"], "at most 32 hosts: 1024; try --topology 2,2,2:1,1,2"),
        ([*RTL, "--trees", "exact"], "--rtl knows trees first and spread: exact"),
        ([*RTL, "--capacity", "2"], "--rtl knows a capacity of 1: 2"),
        ([*RTL, "--sharing", "never"], "--rtl needs jobs that use INA"),
        ([*RTL, "--topology", "2,2,2:1,8,2"], "--rtl simulates at most 16 switches: 36"),
        (["--rtl", "--count", "1", "--topology", "2,2:2,1"], "--rtl knows hosts with one link up"),
        (["--rtl", "--jobs", "long.json", "--topology", "4:1"], "try --jobs of fewer steps"),
        (["-o", "taken"], "taken"),
        (["--record", "jobs.json"], "--record needs jobs on switches in hardware: --rtl runs some"),
        ([*RTL, "--record", "no/jobs.json"], "cannot write no/jobs.json: there is no folder no"),
        (["--topology", "test"], "such as 8,8,16:1,8,8, or testbed: 'test'"),
        (["--pcap", "frames.pcapng"], "--pcap needs links of RTL: --rtl simulates some"),
    ],
)
def test_bad_input_is_one_line_and_status_2(ingather, tmp_path, arguments, says):
    (tmp_path / "bad.json").write_text('[{"model": "GPT", "hosts": 2, "steps": 3}]')
    long = '[{"model": "OPT-125M", "hosts": 2, "steps": 1000}]'
    (tmp_path / "long.json").write_text(long)
    refused(ingather, tmp_path, ("-o", "made", *arguments), says)
