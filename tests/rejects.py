"""Makes the test that sizes or arguments which cannot be are refused."""

import pytest


def refuses(make, *cases, error=ValueError, match="{}"):
    """Return a test that ``make`` refuses each case: arguments, and what the error says of them.

    ``match`` is the pattern of the whole error, with a place for what a case says.
    """

    @pytest.mark.parametrize("case", cases)
    def test(case):
        *arguments, message = case
        with pytest.raises(error, match=match.format(message)):
            make(*arguments)

    return test


def rejects(make, *cases, match="{}"):
    """Return a test that ``make`` refuses each case: sizes, and what the error says of them."""
    return refuses(lambda sizes: make(**sizes), *cases, match=match)
