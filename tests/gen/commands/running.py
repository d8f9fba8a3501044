"""Makes the fixture that runs a command as a user does."""

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
