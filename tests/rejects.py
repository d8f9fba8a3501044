"""Makes the test that sizes which cannot be are refused."""

import pytest


def rejects(make, *cases):
    """Return a test that ``make`` refuses each case: sizes, and what the error says of them."""

    @pytest.mark.parametrize(("sizes", "message"), cases)
    def test(sizes, message):
        with pytest.raises(ValueError, match=message):
            make(**sizes)

    return test
