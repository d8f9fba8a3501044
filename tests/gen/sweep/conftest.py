import pytest

from tests.gen.sweep import fake


@pytest.fixture
def fakes(monkeypatch, tmp_path):
    """Install the fake design and no other; return the folder in which it notes what it does."""
    folder = tmp_path / "fake"
    folder.mkdir()
    monkeypatch.setenv(fake.FOLDER, "")
    monkeypatch.setenv("INGATHER_CACHE", "")
    fake.install(monkeypatch.setattr, folder, tmp_path / "cache")
    return folder
