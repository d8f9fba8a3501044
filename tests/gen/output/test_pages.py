"""A design whose parts have registers of their own comes with the documents of each."""

import json

from gen.base.emission.emit import emit
from gen.output.manifest import write_design
from hdl.common.registers import Register, RegisterMap, rw
from tests.gen.sample import Pair, PairParams


def test_each_page_has_its_documents(tmp_path):
    map = RegisterMap("part", (Register("mode", "Sets it.", rw("fast", 1, "sets the mode")),))
    emission = emit(Pair(PairParams()))
    emission.top.component.pages = {"first": map, "second": map}
    written = write_design(tmp_path, emission, design="pair", preset="", settings={})
    for name in ("first", "second"):
        folder = f"registers/{name}"
        assert {f"{folder}/part.h", f"{folder}/part_driver.py", f"{folder}/part.rdl"} <= {*written}
        described = json.loads((tmp_path / folder / "registers.json").read_text())
        assert described == map.describe()
