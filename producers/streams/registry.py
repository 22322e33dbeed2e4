"""The generators by name. A literal table: nothing is imported before a generator is opened."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from producers.streams.generator import Recipe

GENERATORS: dict[str, tuple[str, str]] = {
    "sea": ("producers.streams.sea:RECIPE", "4 stages, 3 features, threshold on x1 + x2 jumps"),
    "hyperplane_staged": (
        "producers.streams.hyperplane_staged:RECIPE",
        "9 stages, 10 features, a new hyperplane in each",
    ),
}
"""name -> (module:attribute, one line)."""


def find_recipe(name: str) -> Recipe:
    """The recipe of the generator `name`, which must be in `GENERATORS`."""
    module, attribute = GENERATORS[name][0].split(":")
    recipe: Recipe = getattr(import_module(module), attribute)
    return recipe
