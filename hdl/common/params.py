"""Makes classes of parameters, whose fields say which values are legal and how they are named."""

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, ClassVar, dataclass_transform

from hdl.common.rules import Choice, Flag, Rule, Whole

#: Says what is legal in a field that has no rule of its own, by the field's type.
OF_TYPES: Mapping[Any, Rule] = {int: Whole(), bool: Flag()}


def whole(
    least: int,
    most: int | None = None,
    *,
    default: Any = MISSING,
    power_of_two: bool = False,
    multiple_of: int = 1,
    or_zero: bool = False,
    tag: str = "",
) -> Any:
    """Make a field for a whole number from ``least`` to ``most``, both legal.

    With ``or_zero`` 0 is legal, too. The ``tag`` is what :attr:`Params.suffix` has of an unusual
    value, with ``{}`` in the value's place.
    """
    rule = Whole(least, most, power_of_two, multiple_of, or_zero)
    return field(default=default, metadata={"rule": rule, "tag": tag})


def choice(*values: Any, default: Any = MISSING, tag: str = "") -> Any:
    """Make a field for one of ``values``; ``tag`` is as :func:`whole` has it."""
    return field(default=default, metadata={"rule": Choice(values), "tag": tag})


def same_as(part: type["Params"], name: str, *, default: Any = MISSING, tag: str = "") -> Any:
    """Make a field with the rule of field ``name`` of ``part``, to which it sets that field."""
    return field(default=default, metadata={"rule": part.field_rules[name], "tag": tag})


def ruled(rule: Rule, *, default: Any = MISSING) -> Any:
    """Make a field whose values ``rule`` admits."""
    return field(default=default, metadata={"rule": rule})


def tagged(tag: str, *, default: Any) -> Any:
    """Make a field of which only the type is checked; ``tag`` is as :func:`whole` has it."""
    return field(default=default, metadata={"tag": tag})


@dataclass_transform(
    frozen_default=True,
    kw_only_default=True,
    field_specifiers=(field, whole, choice, same_as, ruled, tagged),
)
class Params:
    """Is the base of parameters: each derived class becomes a frozen, keyword-only dataclass.

    Each field is checked when an object is made: by the rule that :func:`whole`, :func:`choice` or
    :func:`same_as` gives it, or by its type, if that is int or bool. A class whose fields depend on
    each other extends ``__post_init__``. Raises ValueError with the field's name, what is legal,
    and the value.

    The class argument ``suffix`` says which sizes stand in the names of modules, and how:
    ``suffix="{width}x{depth}"``. It names fields and properties.
    """

    suffix_form: ClassVar[str] = ""  #: the class argument ``suffix``
    field_rules: ClassVar[Mapping[str, Rule]] = {}  #: what is legal, by the names of fields
    #: tags and usual values, by the names of fields
    field_tags: ClassVar[Mapping[str, tuple[str, Any]]] = {}

    def __init_subclass__(cls, suffix: str | None = None, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if suffix is not None:
            cls.suffix_form = suffix
        own = fields(dataclass(frozen=True, kw_only=True)(cls))  # pyright: ignore[reportArgumentType]
        rules = {item.name: item.metadata.get("rule") or OF_TYPES.get(item.type) for item in own}
        cls.field_rules = {name: rule for name, rule in rules.items() if rule is not None}
        tags = {item.name: (item.metadata.get("tag"), item.default) for item in own}
        cls.field_tags = {name: (tag, usual) for name, (tag, usual) in tags.items() if tag}

    def __post_init__(self) -> None:
        for name, rule in self.field_rules.items():
            value = getattr(self, name)
            if not rule.admits(value):
                raise ValueError(f"{name} must be {rule.legal}: {value!r}")

    @property
    def suffix(self) -> str:
        """Return the end of the module's name: the sizes, then the tag of each unusual setting."""
        text = self.suffix_form.format_map(_Attributes(self))
        for name, (tag, usual) in self.field_tags.items():
            if (value := getattr(self, name)) != usual:
                text += tag.format(value)
        return text


class _Attributes:
    """Gives the attributes of an object by name, as ``str.format_map`` asks for them."""

    def __init__(self, of: object) -> None:
        self.of = of

    def __getitem__(self, name: str) -> Any:
        return getattr(self.of, name)
