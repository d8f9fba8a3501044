"""Reads and checks the TOML file that specifies a sweep."""

import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from gen.base.errors import UserError
from hdl.common.core_clock import CORE_MHZ
from sim.workloads.files import InputError, read_unpacked

Scalar = bool | int | float | str
MAX_VALUES = 100_000  #: of a range


class Strict(BaseModel):
    """Refuses fields that it does not know."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, populate_by_name=True, allow_inf_nan=False
    )


class Range(Strict):
    """Describes the numbers from one to another, both included."""

    start: int | float = Field(alias="from", description="begin at this number, which is included")
    to: int | float = Field(description="end at this number, included")
    step: int | float | None = Field(
        None, gt=0, description="step from one number to the next; 1 for whole numbers"
    )
    log: bool = Field(
        False, description="draw evenly on a logarithmic scale, for random and search"
    )

    @model_validator(mode="after")
    def check(self) -> "Range":
        """Check that the numbers fit together."""
        if self.to < self.start:
            raise ValueError(f"from {self.start} to {self.to} is empty")
        if self.log and (self.start <= 0 or self.step is not None):
            raise ValueError("log needs numbers above 0, and no step")
        return self

    @property
    def whole(self) -> bool:
        """Return whether all are whole numbers."""
        return all(isinstance(number, int) for number in (self.start, self.to, self.step or 1))

    def values(self) -> list[int | float]:
        """Return all numbers; raise ValueError if they cannot be counted."""
        step = self.step if self.step is not None else 1
        if self.log or (self.step is None and not self.whole):
            raise ValueError("a range in a grid needs whole numbers or a step, and no log")
        count = int((self.to - self.start) / step + 1e-9) + 1
        if count > MAX_VALUES:
            raise ValueError(f"a range has at most {MAX_VALUES:,} values, not {count:,}")
        return [self.start + k * step for k in range(count)]


Choices = Annotated[list[Scalar], Field(min_length=1)]
Axis = Choices | Range


class Random(Strict):
    """Describes points that are drawn at random."""

    points: int = Field(ge=1, le=100_000, description="draw this many different points")
    seed: int = Field(1, ge=0, description="equal seeds draw equal points")
    ranges: dict[str, Any] = Field(min_length=1, description="give each name a list or a range")


class Search(Strict):
    """Says what a search optimises, and which points it may try."""

    maximise: list[str] = Field(
        [], description="maximise these metrics; the design's own unless given"
    )
    minimise: list[str] = Field([], description="minimise these metrics; luts unless given")
    constraints: list[str] = Field(["fill <= 1"], description="keep METRIC <= NUMBER, or >=")
    ranges: dict[str, Any] = Field(
        {}, description="search these values; else those of grid or random"
    )
    seed: int = Field(1, ge=0, description="equal seeds ask for equal points")
    batch: int = Field(4, ge=1, description="ask for this many points at a time")


class Spec(Strict):
    """Describes a sweep: which points of a design, and what is measured of them."""

    design: str = Field(description="sweep this design, one of `ingather list`")
    preset: str | None = Field(
        None, description="begin with this preset; the design's default else"
    )
    run: str = Field("", description="measure this run of the design instead of its first")
    about: str = Field("", description="describe the sweep in half a line")
    metrics: list[str] = Field(min_length=1, description="measure these metrics of each point")
    clock_mhz: float = Field(float(CORE_MHZ), gt=0, description="count rates at this clock")
    set: dict[str, Any] = Field({}, description="set name = value in all points")
    grid: dict[str, Any] = Field({}, description="combine all values of all names")
    zip: list[dict[str, Any]] = Field(
        [], description="take the first values of all names of a table, then the second, and so on"
    )
    derive: dict[str, Any] = Field(
        {}, description="compute a setting of each point from others: lanes = '512 / banks'"
    )
    steps: list[dict[str, Any]] = Field(
        [], description="set name = value from this step on, one table a step"
    )
    random: Random | None = None
    search: Search | None = None

    @field_validator("metrics")
    @classmethod
    def once(cls, metrics: list[str]) -> list[str]:
        """Check that each metric is named once."""
        if len(set(metrics)) < len(metrics):
            raise ValueError("a metric is named twice")
        return metrics

    @field_validator("zip", mode="before")
    @classmethod
    def tables(cls, zipped: Any) -> Any:
        """Take one table, [zip], as a list of it."""
        return [zipped] if isinstance(zipped, Mapping) else zipped

    @model_validator(mode="after")
    def check(self) -> "Spec":
        """Check that the parts fit together."""
        if (self.grid or self.zip or self.steps) and self.random:
            raise ValueError("[random] alone, not with [grid], [[zip]] or [[steps]]")
        return self


def read_spec(path: Path, seed: int | None = None) -> tuple[Spec, dict[str, Any]]:
    """Read a specification, and its TOML as parsed; raise UserError that says what is wrong.

    ``seed`` is taken in place of those of the file.
    """
    try:
        parsed = tomllib.loads(read_unpacked(path).decode())
    except InputError as error:
        raise UserError(str(error)) from error
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path} is not TOML: {error}") from error
    if seed is not None:
        for part in ("random", "search"):
            if isinstance(parsed.setdefault(part, {} if part == "search" else None), dict):
                parsed[part]["seed"] = seed
    try:
        return Spec.model_validate(parsed), parsed
    except ValidationError as error:
        raise UserError(f"{path}: {first_problem(error)}") from error


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Let the file's name stand before what a UserError says of its contents."""
    try:
        yield
    except UserError as error:
        raise UserError(f"{path}: {error}") from error


def axes(ranges: Mapping[str, Any]) -> Iterator[tuple[str, list[Scalar] | Range]]:
    """Yield name and values of each axis; a table that is not a range holds dotted names."""
    for name, value in flat(ranges):
        try:
            axis = Axes.model_validate({"axis": value}).axis
        except ValidationError as error:
            raise UserError(f"{name}: {first_problem(error)}") from error
        yield name, axis


class Axes(Strict):
    """Wraps one axis, so that it can be validated alone."""

    axis: Axis

    @field_validator("axis", mode="before")
    @classmethod
    def kind(cls, value: Any) -> Any:
        """Validate a list or a range as what it is: pydantic would complain of both kinds."""
        if isinstance(value, Mapping):
            return Range.model_validate(value)
        if not isinstance(value, list):
            raise ValueError("give a list of values, or {from = A, to = B}")
        return value


def flat(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield dotted names and their values: TOML makes tables of ``engine.banks``."""
    for name, value in table.items():
        if isinstance(value, Mapping) and not {"from", "to"} & value.keys():
            yield from flat(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def first_problem(error: ValidationError) -> str:
    """Return the first error of a validation, in half a line."""
    problem = error.errors()[0]
    place = ".".join(str(part) for part in problem["loc"] if part != "axis")
    words = problem["msg"].removeprefix("Value error, ")
    if problem["type"] == "extra_forbidden":
        words = "there is no such setting"
    return f"{place}: {words}" if place else words
