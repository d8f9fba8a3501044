import pytest

from gen.base.emission.emit import emit
from tests.gen.datasheet.design import Demo, DemoParams


@pytest.fixture(scope="package")
def demo():
    """Return the small design, emitted."""
    return emit(Demo(DemoParams()))
