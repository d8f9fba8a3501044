"""Saves what a step of the preprocessing leaves: an .npz file of arrays with a schema."""

import os
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, NamedTuple, Self, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from gen.base.errors import UserError
from sim.workloads.arrays import Archive
from sim.workloads.files import InputError


class Held(NamedTuple):
    """Says what the array of a field must be."""

    dtype: type[np.generic]
    dimensions: int


Bools = Annotated[NDArray[np.bool_], Held(np.bool_, 1)]
Int32s = Annotated[NDArray[np.int32], Held(np.int32, 1)]
Int64s = Annotated[NDArray[np.int64], Held(np.int64, 1)]
UInt8s = Annotated[NDArray[np.uint8], Held(np.uint8, 1)]
UInt16s = Annotated[NDArray[np.uint16], Held(np.uint16, 1)]
UInt32s = Annotated[NDArray[np.uint32], Held(np.uint32, 1)]
Int64Table = Annotated[NDArray[np.int64], Held(np.int64, 2)]
UInt16Table = Annotated[NDArray[np.uint16], Held(np.uint16, 2)]
UInt32Table = Annotated[NDArray[np.uint32], Held(np.uint32, 2)]


def refuse(wrong: object, message: str) -> None:
    """Raise UserError with ``message`` if ``wrong`` is true."""
    if wrong:
        raise UserError(message)


@dataclass(frozen=True, kw_only=True, eq=False)
class Saved:
    """Holds a step's result: arrays, integers and texts, checked whenever it is made.

    ``save`` writes the same bytes for the same content; ``load`` raises UserError, in one line with
    the path, for a file that is none, has another schema, or holds what ``check`` refuses.
    """

    schema: ClassVar[str]  #: name of the file's content and its version

    def __post_init__(self) -> None:
        for name, (dtype, dimensions) in _arrays(type(self)).items():
            result = getattr(self, name)
            refuse(
                result.dtype != dtype or result.ndim != dimensions,
                f"{name} must be {dimensions}-dimensional {np.dtype(dtype)},"
                f" not {result.ndim}-dimensional {result.dtype}",
            )
        self.check()

    def check(self) -> None:
        """Raise UserError unless the content is consistent; each step says what that means."""

    def save(self, path: Path) -> None:
        """Write the file; it is there whole or not at all."""
        content = {each.name: np.asarray(getattr(self, each.name)) for each in fields(self)}
        unfinished = path.with_name(f"{path.name}.{os.getpid()}.tmp")
        try:
            with open(unfinished, "wb") as file:
                np.savez(file, allow_pickle=False, schema=np.asarray(self.schema), **content)
            unfinished.replace(path)
        finally:
            unfinished.unlink(missing_ok=True)

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a file that ``save`` wrote."""
        try:
            return cls(**cls._values(path))
        except InputError as error:
            raise UserError(str(error)) from None
        except UserError as error:
            raise UserError(f"{path}: {error}") from None

    @classmethod
    def _values(cls, path: Path) -> dict[str, Any]:
        content = dict(Archive(path))
        schema = str(content.pop("schema", "none"))
        refuse(schema != cls.schema, f"the schema is {schema}, must be {cls.schema}")
        names = {each.name for each in fields(cls)}
        apart = ", ".join(sorted(names ^ set(content)))
        refuse(apart, f"{cls.schema} has other arrays than the file: {apart}")
        arrays = _arrays(cls)
        return {
            name: content[name] if name in arrays else _plain(name, content)
            for name in sorted(names)
        }


@cache
def _arrays(step: type[Saved]) -> dict[str, Held]:
    """Return what the fields that are arrays must be."""
    hints = get_type_hints(step, include_extras=True)
    annotated = {each.name: hints[each.name] for each in fields(step)}
    return {
        name: hint.__metadata__[0]
        for name, hint in annotated.items()
        if get_origin(hint) is Annotated
    }


def _plain(name: str, content: dict[str, NDArray[Any]]) -> int | str:
    result = content[name]
    refuse(result.ndim or result.dtype.kind not in "iuU", f"{name} must be an integer or a text")
    return result.item()


def starts(sizes: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return where each of consecutive groups of these sizes begins, and where the last ends."""
    return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])


def places(group: NDArray[np.integer]) -> NDArray[np.int64]:
    """Count for each item how many of its group, a number from 0 on, come before it."""
    order = np.argsort(group, kind="stable")
    sizes = np.bincount(group)
    result = np.empty(group.size, np.int64)
    result[order] = np.arange(group.size) - np.repeat(starts(sizes)[:-1], sizes)
    return result
