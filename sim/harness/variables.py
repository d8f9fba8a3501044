"""Changes variables of the environment for a while."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager


@contextmanager
def changed(values: Mapping[str, str | None]) -> Iterator[None]:
    """Give variables these values for as long as the block lasts; one that is None is unset."""
    before = {name: os.environ.get(name) for name in values}
    give(values)
    try:
        yield
    finally:
        give(before)


def give(values: Mapping[str, str | None]) -> None:
    """Give variables these values; one that is None is unset."""
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
