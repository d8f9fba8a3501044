"""Removes packages that only some commands need: the command says so before it begins."""

import subprocess
import sys

import pytest

from gen.cli import main
from gen.packages import EXTRAS
from tests.gen.console import without_progress
from tests.tables import rows

TINY = ("--preset", "tiny", "-o", "out")
SWEEP = 'design = "p4sgd-engine"\nmetrics = ["features_per_cycle"]\ngrid = {banks = [4, 8]}\n'

#: what lacks, a command that wants it, what is said
LACKING = rows(
    """
    matplotlib | train TINY | ingather train needs matplotlib: pip install 'ingather[plots]'
    matplotlib | spmm TINY | ingather spmm needs matplotlib: pip install 'ingather[plots]'
    matplotlib sklearn | reproduce p4sgd -o out |
        ingather reproduce needs matplotlib and scikit-learn: pip install 'ingather[plots,data]'
    sklearn | train --data digits TINY |
        the data set digits needs scikit-learn: pip install 'ingather[data]'
    distributed | sweep grid.toml | ingather sweep needs distributed: pip install 'ingather[sweep]'
    optuna | sweep grid.toml --search 4 |
        ingather sweep --search needs optuna: pip install 'ingather[sweep]'
    highspy | generate p4sgd-worker --board u280 TINY |
        ingather generate --board needs highspy: pip install 'ingather[board]'
    pyslang | generate p4sgd-worker --board u280 --no-estimate TINY |
        ingather generate --board needs pyslang: pip install 'ingather[board]'
    """
)


@pytest.mark.parametrize(("modules", "arguments", "says"), LACKING)
def test_a_command_names_what_it_lacks(modules, arguments, says, tmp_path, monkeypatch, capsys):
    modules = modules.split()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "grid.toml").write_text(SWEEP)
    for module in [name for name in sys.modules if name.partition(".")[0] in modules] + modules:
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setattr(
        "sys.argv", ["ingather", *arguments.replace("TINY", " ".join(TINY)).split()]
    )
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 2
    assert without_progress(capsys.readouterr().err) == f"ingather: {says}\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["grid.toml"]


BASE = """
import sys
blocked = {blocked!r}
class Blocker:
    def find_spec(self, name, *_):
        if name.partition(".")[0] in blocked:
            raise ModuleNotFoundError(f"no module named {{name}}", name=name)
sys.meta_path.insert(0, Blocker())
from gen.cli import main
main()
"""


@pytest.mark.parametrize(
    "arguments", [("list",), ("train", "--help"), ("generate", "p4sgd-engine", *TINY)]
)
def test_the_rest_works_without_any_extra(arguments, tmp_path):
    result = subprocess.run(
        [sys.executable, "-c", BASE.format(blocked=set(EXTRAS)), *arguments],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": ":".join(sys.path), "PATH": "/usr/bin:/bin"},
    )
    assert result.returncode == 0, result.stderr
