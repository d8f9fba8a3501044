"""Makes the test that sizes or arguments which cannot be are refused."""

import pytest


def refuses(make, *cases, error=ValueError):
    """Return a test that ``make`` refuses each case: arguments, and what the error says of them."""

    @pytest.mark.parametrize("case", cases)
    def test(case):
        *arguments, message = case
        with pytest.raises(error, match=message):
            make(*arguments)

    return test


def rejects(make, *cases):
    """Return a test that ``make`` refuses each case: sizes, and what the error says of them."""
    return refuses(lambda sizes: make(**sizes), *cases)
