"""A fixture that runs a test once for each exercise, and lets go of what the exercise has kept."""

import pytest

from vit_tutorial import checks


@pytest.fixture(scope="module", params=checks.EXERCISES, ids=lambda name: f"{checks.EXERCISES[name].lesson}-{name}")
def exercise(request):
    yield checks.EXERCISES[request.param]
    checks.EXERCISES[request.param].memory.clear()
    checks.EXERCISES[request.param].built.clear()
