"""Tests how the sources of a machine are told from those of another."""

from sim.cluster import sources as module
from sim.cluster.sources import INSTALLED, TESTED, sources


def test_every_file_that_is_read_counts(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "CHECKOUT", tmp_path)
    for folder in TESTED:
        (tmp_path / folder / "inner").mkdir(parents=True)
    file = tmp_path / "hdl" / "inner" / "a.py"
    file.write_text("one")
    before = sources()
    for name in ("hdl/page.md", "hdl/inner/a.pyc", "tests/test_a.py"):
        (tmp_path / name).write_text("other")
        assert sources() == before
    tested = sources(TESTED)
    assert tested != sources(INSTALLED)
    (tmp_path / "tests/test_a.py").write_text("another")
    assert sources(TESTED) != tested
    file.write_text("two")
    changed = sources()
    file.rename(file.with_name("b.py"))
    assert len({before, changed, sources()}) == 3
