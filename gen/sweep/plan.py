"""Turns a specification into points: finds names, converts values, multiplies grids out."""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from hashlib import sha256
from itertools import product
from json import dumps
from math import exp, log, prod
from typing import Any

from gen.base.errors import UserError, unknown
from gen.base.settings import Parameter, construct, convert, parameters
from gen.designs.catalogue import find_design
from gen.designs.design import Design
from gen.sweep.sources import version
from gen.sweep.spec import Range, Scalar, Spec, axes, flat
from gen.sweep.store import PointRow, Value
from gen.sweep.subject import Subject, find_subject

MAX_POINTS = 100_000
DRAWS = 200  #: draws for each wanted point before it is taken that none is left


@dataclass(frozen=True)
class Setting:
    """Describes a name that a specification may set."""

    name: str  #: name of the axis, as in results
    of_hardware: bool  #: whether it sets a parameter of the hardware, or else of the workload
    parameter: Parameter


@dataclass(frozen=True)
class Point:
    """Holds all that decides the metrics of a point."""

    key: str  #: hash of all that decides the metrics
    params: Any  #: parameters of the hardware; None if they are illegal
    workload: Any  #: what the hardware does; None if it is illegal
    row: PointRow  #: the point's row, as it waits in the store, or has failed
    provided: Mapping[str, Value]  #: the values that distinguish it from other points


class Plan:
    """Checks a specification and its names; raises UserError for what is wrong with it."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self.design: Design = find_design(spec.design)
        self.subject: Subject = find_subject(spec.design, spec.run)
        self.preset = self.design.preset if spec.preset is None else spec.preset
        self.settings = list(settings_of(self.design, self.subject))
        self.origins = self.subject.origins(self.metrics())
        self.version = version(self.subject.sources(self.origins))
        preset = self.design.settings_of(self.preset)
        base = dict(self.of_hardware(name, value) for name, value in preset.items())
        self.base = self.usual() | base
        self.base |= dict(self.converted(name, value) for name, value in flat(spec.set))
        self.grid = self.axes_of(spec.grid)
        self.ranges = self.axes_of(spec.random.ranges if spec.random else {})
        self.check_fixed({**self.grid, **self.ranges})
        self.steps = self.accumulated(spec.steps)

    def usual(self) -> dict[Setting, Any]:
        """Return what a sweep sets unless its specification sets it."""
        usual = self.subject.defaults()
        return {
            setting: convert(setting.parameter, usual[setting.parameter.name])
            for setting in self.settings
            if not setting.of_hardware and setting.parameter.name in usual
        }

    def metrics(self) -> list[str]:
        """Return all metrics to measure; a search may want more than is shown."""
        return list(self.spec.metrics)

    def of_hardware(self, name: str, value: Any) -> tuple[Setting, Any]:
        """Return the hardware's setting at a path, whatever the workload has, and the value."""
        paths = {s.parameter.path: s for s in self.settings if s.of_hardware}
        setting = paths[name] if name in paths else self.find(name)
        return setting, convert(setting.parameter, value)

    def find(self, name: str) -> Setting:
        """Return the setting of that name or path; raise UserError if there is none."""
        result = [s for s in self.settings if name in (s.name, full_name(s))]
        result = result or [s for s in self.settings if name == s.parameter.name]
        if not result:
            raise unknown("parameter", name, [s.name for s in self.settings])
        if len(result) > 1:
            raise UserError(f"{name} could be: {', '.join(map(full_name, result))}")
        return result[0]

    def converted(self, name: str, value: Any) -> tuple[Setting, Any]:
        """Return the setting of a name, and the value converted to its type."""
        setting = self.find(name)
        return setting, convert(setting.parameter, value)

    @property
    def varied(self) -> list[Setting]:
        """Return what differs from point to point."""
        return list({**self.grid, **self.ranges, **self.steps[-1]})

    def axes_of(self, ranges: Mapping[str, Any]) -> dict[Setting, list[Any] | Range]:
        """Return the converted values of each axis; a range is checked and stays one."""
        result: dict[Setting, list[Any] | Range] = {}
        for name, axis in axes(ranges):
            setting = self.find(name)
            if setting in result:
                raise UserError(f"{name} is swept twice")
            result[setting] = converted_axis(setting, axis)
        return result

    def check_fixed(self, varied: Mapping[Setting, Any]) -> None:
        """Raise UserError if [set] sets what an axis varies."""
        for name, _ in flat(self.spec.set):
            if self.find(name) in varied:
                raise UserError(f"{name} is both set and swept")

    def accumulated(self, steps: Sequence[Mapping[str, Any]]) -> list[dict[Setting, Any]]:
        """Return what each step sets, on top of all earlier ones; one empty step if none."""
        result: list[dict[Setting, Any]] = [{}]
        for step in steps:
            result.append(result[-1] | dict(self.converted(name, v) for name, v in flat(step)))
        if twice := result[-1].keys() & self.grid.keys():
            raise UserError(f"{twice.pop().name} is in [grid] and in [[steps]]")
        return result[1:] or result

    def points(self) -> list[Point]:
        """Return all steps of each grid point, or of each drawn one; raise UserError if none."""
        if self.grid or self.spec.steps:
            built = product(multiplied(self.grid), self.steps)
            return list(unique(self.point(values | step) for values, step in built))
        if self.ranges:
            return self.drawn()
        raise UserError(
            "nothing to sweep: give [grid], [[steps]] or [random.ranges], or use --search N"
        )

    def drawn(self) -> list[Point]:
        """Draw different points, as many as are asked for or as exist."""
        assert self.spec.random is not None
        draw, expected = random.Random(self.spec.random.seed), self.spec.random.points
        result: dict[str, Point] = {}
        for _ in range(expected * DRAWS):
            point = self.point({s: drawn(axis, draw) for s, axis in self.ranges.items()})
            result.setdefault(point.key, point)
            if len(result) == expected:
                break
        return list(result.values())

    def point(self, values: Mapping[Setting, Any]) -> Point:
        """Return the point of some values; illegal values give a point that has failed."""
        chosen = {**self.base, **values}
        work = {s.parameter.path: v for s, v in chosen.items() if not s.of_hardware}
        params, workload, problem = None, None, ""
        try:
            workload = self.subject.workload(**work)
            chosen = self.needed(workload) | chosen
            hardware = {s.parameter.path: v for s, v in chosen.items() if s.of_hardware}
            params = construct(self.design.params_class, hardware)
        except ValueError as error:
            problem = " ".join(str(error).split())
        shown = {
            side: {
                s.name: plain(chosen.get(s, s.parameter.default))
                for s in self.settings
                if s.of_hardware is side
            }
            for side in (True, False)
        }
        known = [self.design.name, shown[True], shown[False], sorted(self.origins), self.version]
        known += [self.spec.clock_mhz, self.contents(workload)]
        key = sha256(dumps(known, sort_keys=True).encode()).hexdigest()[:20]
        row = PointRow(
            key=key,
            design=self.design.name,
            parameters=shown[True],
            workload=shown[False],
            status="failed" if problem else "waiting",
            metrics={},
            error=problem,
            log="",
            seconds=0.0,
            attempts=0,
        )
        provided = {s.name: plain(value) for s, value in values.items()}
        return Point(key, params, workload if params else None, row, provided)

    def needed(self, workload: Any) -> dict[Setting, Any]:
        """Return the hardware settings that ``workload`` requires."""
        needs = self.subject.session.needs(workload)
        return dict(self.of_hardware(name, value) for name, value in needs.items())

    def contents(self, workload: Any) -> list[str]:
        """Return hashes of the files that a workload names."""
        files = self.subject.files(workload) if workload else ()
        return [sha256(path.read_bytes()).hexdigest() for path in files if path.is_file()]


def settings_of(design: Design, subject: Subject) -> Iterator[Setting]:
    """Yield all settings; names that hardware and workload share are written in full."""
    hardware, work = list(parameters(design.params_class)), list(parameters(subject.workload))
    words = [parameter.name for parameter in (*hardware, *work)]
    for parameter in hardware:
        alone = words.count(parameter.name) == 1
        name = parameter.name if alone else parameter.path
        if not alone and "." not in name:
            name = f"hardware.{name}"
        yield Setting(name, True, parameter)
    for parameter in work:
        yield Setting(parameter.name, False, parameter)


def full_name(setting: Setting) -> str:
    """Return a name that no other setting has."""
    if setting.of_hardware:
        return setting.parameter.path if "." in setting.name else setting.name
    return f"workload.{setting.parameter.path}"


def converted_axis(setting: Setting, axis: list[Scalar] | Range) -> list[Any] | Range:
    """Return the values of an axis, converted to the setting's type."""
    if isinstance(axis, list):
        result = [convert(setting.parameter, value) for value in axis]
        if len(set(result)) < len(result):
            raise UserError(f"{setting.name} has a value twice")
        return result
    for end in (axis.start, axis.to):
        convert(setting.parameter, end)
    return axis


def multiplied(grid: Mapping[Setting, list[Any] | Range]) -> Iterator[dict[Setting, Any]]:
    """Yield every combination of the axes' values, the last axis fastest."""
    columns: dict[Setting, list[Any]] = {}
    for setting, axis in grid.items():
        try:
            columns[setting] = axis.values() if isinstance(axis, Range) else axis
        except ValueError as error:
            raise UserError(f"{setting.name}: {error}") from error
    if (count := prod(map(len, columns.values()))) > MAX_POINTS:
        raise UserError(f"the grid has {count:,} points, more than {MAX_POINTS:,}")
    converted = [[convert(s.parameter, value) for value in axis] for s, axis in columns.items()]
    return (dict(zip(grid, values, strict=True)) for values in product(*converted))


def drawn(axis: Sequence[Any] | Range, draw: random.Random) -> Any:
    """Draw a value of an axis."""
    if not isinstance(axis, Range):
        return draw.choice(axis)
    if axis.log:
        value = exp(draw.uniform(log(axis.start), log(axis.to)))
        return min(round(value), int(axis.to)) if axis.whole else value
    if axis.whole or axis.step is not None:
        return draw.choice(axis.values())
    return draw.uniform(axis.start, axis.to)


def unique(points: Iterator[Point]) -> Iterator[Point]:
    """Yield each point once."""
    seen = set()
    for point in points:
        if point.key not in seen:
            seen.add(point.key)
            yield point


def plain(value: Any) -> Any:
    """Return a value as JSON has it."""
    return value.value if isinstance(value, Enum) else value
