"""Runs a command as a user does, and checks that it refuses what cannot be."""

import pytest

from gen.cli import main


def running(command):
    """Return a fixture that runs ``command``, and returns its status, output and errors."""

    @pytest.fixture
    def ingather(monkeypatch, capsys, tmp_path):
        monkeypatch.chdir(tmp_path)

        def run(*arguments):
            monkeypatch.setattr("sys.argv", ["ingather", command, *map(str, arguments)])
            with pytest.raises(SystemExit) as end:
                main()
            return end.value.code, *capsys.readouterr()

        return run

    return ingather


def refused(ingather, folder, arguments, says):
    """Assert that a command ends with status 2 and one line that ``says`` why.

    ``folder``, in which it runs and which then has a file that is not its own, stays as it was.
    """
    (folder / "taken").mkdir(exist_ok=True)
    (folder / "taken" / "precious.txt").write_text("mine")
    before = content(folder)
    status, _, err = ingather(*arguments)
    assert status == 2
    assert err.startswith("ingather: ")
    assert err.count("\n") == 1, err
    assert says in err
    assert content(folder) == before


def content(folder):
    """Return what there is in a folder: paths, and the bytes of files."""
    return {path: path.is_file() and path.read_bytes() for path in folder.rglob("*")}
