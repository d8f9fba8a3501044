"""Modules are copied with all that they import, and stand without the project."""

import pytest

from gen.software import copies

TEXTS = {
    "sim.a": "import math\n\nfrom gen.b import (\n    one,\n)\n",
    "gen.b": "from hdl.deep.c import two as one\n",
    "hdl.deep.c": "two = 2\n",
    "gen.c": "",
    "gen.bad": "import sim.a\n",
    "gen.worse": "def late():\n    from sim.a import math\n",
}


@pytest.fixture(autouse=True)
def modules(monkeypatch):
    monkeypatch.setattr(copies, "source_of", TEXTS.__getitem__)


def test_what_is_imported_comes_along():
    assert copies.copied(["sim.a"], "made") == {
        "made/a.py": "import math\n\nfrom .b import (\n    one,\n)\n",
        "made/b.py": "from .c import two as one\n",
        "made/c.py": "two = 2\n",
    }


def test_two_of_one_name():
    with pytest.raises(ValueError, match=r"same name: gen\.c, hdl\.deep\.c"):
        copies.copied(["gen.c", "hdl.deep.c"], "made")


@pytest.mark.parametrize("module", ["gen.bad", "gen.worse"])
def test_an_import_that_would_be_left(module):
    with pytest.raises(ValueError, match="would import sim"):
        copies.copied([module], "made")
