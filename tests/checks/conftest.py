"""A fixture that runs a test once for each exercise, all tests of one before those of the next."""

import pytest

from vit_tutorial import checks


@pytest.fixture(scope="module", params=checks.EXERCISES, ids=lambda name: f"{checks.EXERCISES[name].lesson}-{name}")
def exercise(request):
    return checks.EXERCISES[request.param]
