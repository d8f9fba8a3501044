"""Writes save files for GTKWave, of a small waveform."""

import pytest

from sim.verify.gtkwave import moment, write_save

HEAD = """$timescale 1ps $end
$scope module $rootio $end
$var wire 1 ! clk $end
$var wire 1 " rst $end
$var wire 1 # i_valid $end
$var wire 1 $ i_ready $end
$var wire 1 % o_valid $end
$var wire 1 & o_ready $end
$var wire 9 ' o_payload [8:0] $end
$var wire 4 ( level [3:0] $end
$upscope $end
$scope module queue $end
$var wire 1 ) inside $end
$upscope $end
$enddefinitions $end
#0
0!
"""


def lines_of(tmp_path, wrong, streams=()):
    (tmp_path / "dump.vcd").write_text(HEAD)
    path = write_save(tmp_path / "dump.vcd", wrong, streams)
    assert path == tmp_path / "view.gtkw"
    return path.read_text().splitlines()


def signals(lines):
    return [line for line in lines if line.startswith(("queue.", "-"))]


def test_the_wrong_stream_comes_first(tmp_path):
    lines = lines_of(tmp_path, {"stream": "o", "cycle": 100}, ["i"])
    assert signals(lines) == [
        *("queue.clk", "queue.rst"),
        *("-o", "queue.o_valid", "queue.o_ready", "queue.o_payload[8:0]", "-o"),
        *("-i", "queue.i_valid", "queue.i_ready", "-i"),
        *("-other ports", "queue.level[3:0]", "-other ports"),
    ]
    assert "[timestart] 346000" in lines
    assert any(line.startswith("*-7.3") and " 394000 -1" in line for line in lines)
    assert lines.count("[color] 1") == 3


def test_a_port_comes_first(tmp_path):
    lines = lines_of(tmp_path, {"stream": "level", "cycle": 3})
    assert signals(lines)[:4] == ["queue.clk", "queue.rst", "queue.level[3:0]", "-i"]
    assert lines.count("[color] 1") == 1


def test_without_a_wrong_beat_there_is_no_marker(tmp_path):
    for wrong in (None, {"stream": "gone", "cycle": None}):
        lines = lines_of(tmp_path, wrong)
        assert not any(line.startswith("*") for line in lines)
        assert len(signals(lines)) == 2 + 9 + 3


@pytest.mark.parametrize(("cycle", "ns"), [(1, 0), (2, 2), (100, 394)])
def test_a_cycle_is_shown_halfway_to_its_edge(cycle, ns):
    assert moment(cycle) == ns
