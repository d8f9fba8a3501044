"""Runs ``ingather gather`` on files, and checks what it says of wrong ones."""

import json

import numpy as np
import pytest

from tests.gen.commands.running import refused, running

ingather = running("gather")


def test_gathers_rows_of_a_file(ingather, tmp_path):
    np.save(tmp_path / "table.npy", np.random.default_rng(1).normal(size=(40, 9)).astype("f4"))
    np.save(tmp_path / "idx.npy", np.array([3, 39, 0, 3]))
    files = ("--table", "table.npy", "--idx", "idx.npy")
    idle = ("--row-bytes", "64")
    status, out, err = ingather(*files, *idle, "--preset", "tiny", "-o", "made")
    assert (status, err) == (0, "")
    assert "4 rows of 36 bytes, of 40, merged" in out
    assert "every byte equals NumPy's" in out
    assert "warning: --row-bytes has no effect on this run" in out
    result = json.loads((tmp_path / "made" / "result.json").read_text())
    assert result["exact"]
    assert result["figures"]["row_bytes"] == 4 * 36
    settings = result["workload"]
    assert (settings["table"], settings["row_bytes"], settings["idx_bytes"]) == ("table.npy", 36, 8)
    assert not any(settings[name] for name in ("graph", "batch", "fan_outs", "repeats", "seed"))
    assert out.count(result["verdict"]) == 1
    assert (tmp_path / "made" / "gather.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--table", "none.npy"], "none.npy: no such file"),
        (["--idx", "text.npy"], "text.npy: is no .npy file, as numpy.save writes one"),
        (["--graph", "nowhere"], "'nowhere' is no family"),
        (["--row-bytes", "0"], "'--row-bytes': Input should be greater than or equal to 1"),
        (["--fan-outs", "a"], "fan_outs must be numbers"),
        (["--set", "tags=7"], "tags must be a power of two"),
    ],
)
def test_a_line_says_what_is_wrong(ingather, tmp_path, arguments, reason):
    (tmp_path / "text.npy").write_text("text")
    refused(ingather, tmp_path, (*arguments, "--preset", "tiny", "-o", "made"), reason)
