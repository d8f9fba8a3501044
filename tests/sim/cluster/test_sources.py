"""Tests how the sources of a machine are told from those of another."""

from sim.cluster import sources as module
from sim.cluster.sources import sources


def test_every_file_that_is_read_counts(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "CHECKOUT", tmp_path)
    (tmp_path / "hdl" / "inner").mkdir(parents=True)
    seen = {sources()}
    for count, name in enumerate(["a.py", "inner/b.toml", "page.md", "inner/a.pyc"]):
        (tmp_path / "hdl" / name).write_text("one")
        seen.add(sources())
        assert len(seen) == 2 + min(count, 1)
    (tmp_path / "hdl/a.py").write_text("two")
    seen.add(sources())
    (tmp_path / "hdl/a.py").rename(tmp_path / "hdl/b.py")
    assert len({*seen, sources()}) == 5
