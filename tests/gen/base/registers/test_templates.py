import pytest
from jinja2 import UndefinedError

from gen.base.registers.templates import render
from tests.gen.base.registers.maps import MAPS


def test_a_forgotten_name_is_an_error():
    with pytest.raises(UndefinedError):
        render("header.j2", map=MAPS["odd"], enums={})
