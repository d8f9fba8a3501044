import json

from gen.base.registers.documents import register_documents
from sim.reproduce.outcomes import stored
from tests.gen.base.registers.maps import MAPS


def test_all_documents_of_a_map():
    files = register_documents(MAPS["odd"])
    assert {name for name in files if "/" not in name} == {
        "registers.json",
        "odd.rdl",
        "odd.h",
        "odd_driver.py",
    }
    assert "registers_html/index.html" in files
    assert json.loads(files["registers.json"]) == MAPS["odd"].describe()
    assert "addrmap odd {" in files["odd.rdl"]
    assert "odd_t" in files["odd.h"]
    assert "class Odd:" in files["odd_driver.py"]


def test_equal_maps_need_the_tools_once(monkeypatch, tmp_path):
    monkeypatch.setenv("INGATHER_CACHE", str(tmp_path))
    files = register_documents(MAPS["odd"], stored)
    monkeypatch.setattr("gen.base.registers.documents.compiled", None)
    assert register_documents(MAPS["odd"], stored) == files
