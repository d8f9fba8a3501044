import pytest
from jinja2 import UndefinedError

from gen.registers.templates import render
from tests.gen.registers.maps import MAPS


def test_a_forgotten_name_is_an_error():
    with pytest.raises(UndefinedError):
        render("header.j2", map=MAPS["odd"], enums={})
