"""Makes matrices of families that are functions with options: "queen:nodes=8,seed=3"."""

import inspect
from collections.abc import Callable, Mapping

from scipy.sparse import csr_array

from sim.workloads.files import InputError


def generated(
    family: Callable[..., csr_array], settings: str | None, options: Mapping[str, int | float]
) -> csr_array:
    """Make a matrix of ``family`` with the options in ``settings``, and with ``options``.

    ``settings`` is text such as "nodes=8,seed=3", None if a name had none. An option that the
    function has not, one that is given twice and a value that it refuses raise InputError.
    """
    name = family.__name__
    if settings is not None:
        for setting in settings.split(","):
            option, equals, text = (part.strip() for part in setting.partition("="))
            if not equals or not option or option in options:
                reason = "is given twice" if equals and option else "is not key=value"
                raise InputError(f"{name}: option {setting.strip()!r} {reason}")
            options = {**options, option: _number(name, option, text, family)}
    known = _defaults(family)
    for option in options:
        if option not in known:
            raise InputError(f"{name} has no option {option!r}, only {', '.join(known)}")
    try:
        return family(**options)
    except ValueError as error:  # a InputError, or NumPy's of an extreme option
        raise InputError(f"{name}: {error}") from None
    except MemoryError as error:
        raise InputError(f"{name}: its options ask for too large a matrix: {error}") from None


def _defaults(family: Callable[..., csr_array]) -> dict[str, int | float | None]:
    parameters = inspect.signature(family).parameters
    return {name: parameter.default for name, parameter in parameters.items()}


def _number(name: str, option: str, text: str, family: Callable[..., csr_array]) -> int | float:
    is_real = isinstance(_defaults(family).get(option), float)
    try:
        return float(text) if is_real else int(text)
    except ValueError:
        kind = "a number" if is_real else "an integer"
        raise InputError(f"{name}: {option} must be {kind}, not {text!r}") from None
