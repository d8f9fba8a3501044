import re
import subprocess

import pytest

from gen.base.registers.header import c_header
from tests.gen.base.registers.compile_header import compile_header
from tests.gen.base.registers.maps import MAPS, placed_fields


@pytest.mark.parametrize(
    ("compiler", "standard"),
    [("gcc", "c99"), ("gcc", "c11"), ("gcc", "c17"), ("g++", "c++11"), ("g++", "c++17")],
)
@pytest.mark.parametrize("map", MAPS.values(), ids=MAPS)
def test_header_agrees_with_the_map(map, compiler, standard, tmp_path):
    shown = compile_header(map, tmp_path, compiler, standard)
    assert shown.pop("size") == 4 * map.words
    assert shown == {
        field.name: [address, address, offset, field.bits, ((1 << field.bits) - 1) << offset]
        for address, _, field, offset in placed_fields(map)
    }


def test_reset_values_and_enumerations(tmp_path):
    (tmp_path / "odd.h").write_text(c_header(MAPS["odd"]))
    (tmp_path / "check.c").write_text(
        '#include "odd.h"\n'
        'static_assert(ODD__SIGNAL__LEVEL_reset == 5, "");\n'
        'static_assert(ODD__INT__RW_reset == 0xABCDEF01u, "");\n'
        'static_assert(ODD__COLOUR__GREEN == 3, "");\n'
        "static const enum odd_colour shed = ODD__COLOUR__RED;\n"
        "int main(void) { return shed; }\n"
    )
    check = ["gcc", "-Wall", "-Werror", tmp_path / "check.c", "-o", tmp_path / "check"]
    subprocess.run(check, check=True)


@pytest.mark.parametrize("standard", ["c99", "c11"])
def test_another_size_is_an_error(standard, tmp_path):
    wrong = re.sub(r"(sizeof\(\w+\) == )\w+", r"\1 1", c_header(MAPS["odd"]))
    (tmp_path / "odd.h").write_text(wrong)
    command = ["gcc", f"-std={standard}", "-fsyntax-only", tmp_path / "odd.h"]
    assert subprocess.run(command, capture_output=True).returncode == 1


def test_same_map_same_bytes_without_a_date_or_a_path():
    text = c_header(MAPS["odd"])
    assert text == c_header(MAPS["odd"])
    assert not re.search(r"/tmp|20\d\d-", text)
