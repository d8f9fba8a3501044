"""Turns a specification into points: finds names, converts values, multiplies grids out."""

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from hashlib import sha256
from itertools import product
from json import dumps
from math import prod
from typing import Any

from gen.base.errors import UserError, unknown
from gen.base.settings import construct, convert
from gen.designs.catalogue import find_design
from gen.designs.design import Design
from gen.sweep.derive import Expression
from gen.sweep.setting import (
    Setting,
    check_once,
    converted_axis,
    drawn,
    full_name,
    listed,
    plain,
    settings_of,
)
from gen.sweep.sources import version
from gen.sweep.spec import Range, Spec, axes, flat
from gen.sweep.store import PointRow, Value
from gen.sweep.subject import Subject, find_subject

Derivation = tuple[Expression, Mapping[str, Setting]]

MAX_POINTS = 100_000
DRAWS = 200  #: draws for each wanted point before it is taken that none is left


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
        self.zips = [self.zipped(table) for table in spec.zip]
        self.ranges = self.axes_of(spec.random.ranges if spec.random else {})
        self.steps = self.accumulated(spec.steps)
        self.derived = self.derivations(spec.derive)
        parts = self.varied_by("[random]", self.ranges)
        check_once([*parts, ("[[steps]]", self.steps[-1])])
        check_once([("[set]", [self.find(name) for name, _ in flat(spec.set)]), *parts])

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
        zipped = [setting for rows in self.zips for setting in rows[0]]
        steps = self.steps[-1]
        return list(dict.fromkeys([*self.grid, *zipped, *self.ranges, *steps, *self.derived]))

    def varied_by(
        self, name: str, settings: Iterable[Setting]
    ) -> list[tuple[str, Iterable[Setting]]]:
        """Return what varies settings: ``settings`` in the part ``name``, and the other parts."""
        zips = [("[[zip]]", rows[0]) for rows in self.zips]
        return [("[grid]", self.grid), *zips, (name, settings), ("[derive]", self.derived)]

    def axes_of(self, ranges: Mapping[str, Any]) -> dict[Setting, list[Any] | Range]:
        """Return the converted values of each axis; a range is checked and stays one."""
        result: dict[Setting, list[Any] | Range] = {}
        for name, axis in axes(ranges):
            setting = self.find(name)
            if setting in result:
                raise UserError(f"{name} is swept twice")
            result[setting] = converted_axis(setting, axis)
        return result

    def zipped(self, table: Mapping[str, Any]) -> list[dict[Setting, Any]]:
        """Return what the names of a table of [[zip]] are, one value of each after the other."""
        columns: dict[Setting, list[Any]] = {}
        for name, axis in axes(table):
            columns[self.find(name)] = listed(self.find(name), axis)
        lengths = {setting.name: len(values) for setting, values in columns.items()}
        if len(lengths) < len(dict(flat(table))):
            raise UserError("[[zip]]: a name is there twice")
        if len(set(lengths.values())) != 1:
            words = ", ".join(f"{name} has {count}" for name, count in lengths.items())
            raise UserError(f"[[zip]] needs as many values of each name: {words or 'no name'}")
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def derivations(self, texts: Mapping[str, Any]) -> dict[Setting, Derivation]:
        """Return the derived settings in an order in which each needs only earlier ones.

        Each has its expression, and the settings that the expression's names mean.
        """
        result: dict[Setting, Derivation] = {}
        for key, text in flat(texts):
            setting = self.find(key)
            if setting in result:
                raise UserError(f"derive.{key}: {setting.name} is derived twice")
            try:
                expression = Expression(text if isinstance(text, str) else repr(text))
                operands = {name: self.find(name) for name in expression.names}
            except (ValueError, UserError) as error:
                raise UserError(f"derive.{key}: {error}") from error
            result[setting] = expression, operands
        needs = {setting: operands.values() for setting, (_, operands) in result.items()}
        try:
            order = list(TopologicalSorter(needs).static_order())
        except CycleError as error:
            names = [setting.name for setting in reversed(error.args[1])]
            raise UserError(f"derive.{names[0]} needs itself: {' needs '.join(names)}") from error
        return {setting: result[setting] for setting in order if setting in result}

    def accumulated(self, steps: Sequence[Mapping[str, Any]]) -> list[dict[Setting, Any]]:
        """Return what each step sets, on top of all earlier ones; one empty step if none."""
        result: list[dict[Setting, Any]] = [{}]
        for step in steps:
            result.append(result[-1] | dict(self.converted(name, v) for name, v in flat(step)))
        return result[1:] or result

    def points(self) -> list[Point]:
        """Return all steps of each grid point, or all drawn points; raise UserError if none."""
        if self.ranges:
            return self.drawn()
        if not (self.grid or self.zips or self.spec.steps):
            parts = "[grid], [[zip]], [[steps]] or [random.ranges]"
            raise UserError(f"nothing to sweep: give {parts}, or use --search N")
        columns = [[{s: v} for v in listed(s, axis)] for s, axis in self.grid.items()]
        columns += [*self.zips, self.steps]
        if (count := prod(map(len, columns))) > MAX_POINTS:
            raise UserError(f"the sweep has {count:,} points, more than {MAX_POINTS:,}")
        return list(unique(self.point(joined(parts)) for parts in product(*columns)))

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

    def point(self, values: dict[Setting, Any]) -> Point:
        """Return the point of some values; illegal values give a point that has failed."""
        values = values | self.derive({**self.base, **values})
        chosen = {**self.base, **values}
        work = {s.parameter.path: v for s, v in chosen.items() if not s.of_hardware}
        params, workload, problem = None, None, ""
        try:
            workload = self.subject.workload(**work)
            chosen = self.needed(workload) | chosen
            hardware = {s.parameter.path: v for s, v in chosen.items() if s.of_hardware}
            params = construct(self.design.params_class, hardware)
            self.subject.check(self.metrics(), params, workload)
        except ValueError as error:
            params = None
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

    def derive(self, chosen: dict[Setting, Any]) -> dict[Setting, Any]:
        """Return the derived settings of a point; raise UserError for one that cannot be."""
        result: dict[Setting, Any] = {}
        for setting, (expression, operands) in self.derived.items():
            known = chosen | result
            values = {n: plain(known.get(s, s.parameter.default)) for n, s in operands.items()}
            try:
                result[setting] = convert(setting.parameter, expression.value(values))
            except (ValueError, UserError) as error:
                point = ", ".join(f"{name}={value}" for name, value in values.items())
                where = f"{expression.text} at {point}" if point else expression.text
                raise UserError(f"derive.{setting.name}, {where}: {error}") from error
        return result

    def needed(self, workload: Any) -> dict[Setting, Any]:
        """Return the hardware settings that ``workload`` requires."""
        needs = self.subject.session.needs(workload)
        return dict(self.of_hardware(name, value) for name, value in needs.items())

    def contents(self, workload: Any) -> list[str]:
        """Return hashes of the files that a workload names."""
        files = self.subject.files(workload) if workload else ()
        return [sha256(path.read_bytes()).hexdigest() for path in files if path.is_file()]


def joined(parts: Iterable[Mapping[Setting, Any]]) -> dict[Setting, Any]:
    """Return the settings of all parts."""
    return {setting: value for part in parts for setting, value in part.items()}


def unique(points: Iterator[Point]) -> Iterator[Point]:
    """Yield each point once."""
    seen = set()
    for point in points:
        if point.key not in seen:
            seen.add(point.key)
            yield point
