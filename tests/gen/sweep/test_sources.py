from gen.sweep import sources
from gen.sweep.sources import version


def test_the_version_follows_every_file(monkeypatch, tmp_path):
    monkeypatch.setattr(sources, "ROOT", tmp_path)
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x.py").write_text("1")
    (tmp_path / "b.py").write_text("2")

    def now():
        version.cache_clear()
        return version(("a", "b.py"))

    first = now()
    assert now() == first
    version.cache_clear()
    assert version(("b.py", "a")) == first
    (tmp_path / "a" / "__pycache__").mkdir()
    (tmp_path / "a" / "__pycache__" / "x.pyc").write_text("3")
    assert now() == first
    (tmp_path / "b.py").write_text("3")
    second = now()
    assert second != first
    (tmp_path / "a" / "y.py").write_text("")
    assert now() not in (first, second)
