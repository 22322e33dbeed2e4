"""The generators by name. A literal table: nothing is imported before a generator is opened."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from driftway.producers.streams.generator import GeneratorSpec

GENERATORS: dict[str, tuple[str, str]] = {
    "sea": ("driftway.producers.streams.sea:RECIPE", "4 stages, 3 features, threshold on x1 + x2 jumps"),
    "hyperplane_staged": (
        "driftway.producers.streams.hyperplane_staged:RECIPE",
        "9 stages, 10 features, a new hyperplane in each",
    ),
    "gaussian_mixture_drift": (
        "driftway.producers.streams.gaussian_mixture:DRIFT",
        "2 features, two Gaussians per class that move every 10 rows",
    ),
    "gaussian_mixture_switch": (
        "driftway.producers.streams.gaussian_mixture:SWITCH",
        "10 stages, 2 features, two new Gaussians per class in each",
    ),
    "hyperplane_rotating": (
        "driftway.producers.streams.hyperplane_rotating:RECIPE",
        "10 features, two weights of the hyperplane move with every row",
    ),
    "hyperplane_regression": (
        "driftway.producers.streams.hyperplane_regression:RECIPE",
        "4 stages, 10 features, the target is the mean of three others in each",
    ),
    "archive:1CDT": (
        "driftway.producers.streams.archive:ONE_CDT",
        "40 blocks, 2 features, class 1 moves away diagonally and back",
    ),
    "archive:1CHT": (
        "driftway.producers.streams.archive:ONE_CHT",
        "40 blocks, 2 features, class 1 moves away horizontally and back",
    ),
    "archive:2CDT": (
        "driftway.producers.streams.archive:TWO_CDT",
        "40 blocks, 2 features, both classes move diagonally and back",
    ),
    "archive:2CHT": (
        "driftway.producers.streams.archive:TWO_CHT",
        "40 blocks, 2 features, both classes move horizontally and back",
    ),
    "archive:MG-2C-2D": (
        "driftway.producers.streams.archive:MG_2C_2D",
        "100 blocks, 2 features, two Gaussians per class that cross, separate and meet",
    ),
    "archive:UG-2C-2D": (
        "driftway.producers.streams.archive:UG_2C_2D",
        "100 blocks, 2 features, one Gaussian per class, which swap sides",
    ),
    "stagger": ("driftway.producers.streams.stagger:RECIPE", "3 stages, 3 nominal features, a boolean rule in each"),
    "agrawal": (
        "driftway.producers.streams.agrawal:RECIPE",
        "4 stages, 9 mixed features, one of ten loan functions in each",
    ),
    "random_rbf": (
        "driftway.producers.streams.random_rbf:RECIPE",
        "10 features, 50 centroids that travel, any number of classes",
    ),
    "led": (
        "driftway.producers.streams.led:RECIPE",
        "4 stages, 24 bits, 10 classes, segments swap places with irrelevant bits",
    ),
    "waveform": (
        "driftway.producers.streams.waveform:RECIPE",
        "4 stages, 21 or 40 features, 3 classes, features swap places",
    ),
    "sine": ("driftway.producers.streams.sine:RECIPE", "4 stages, 4 features, below or above a sine, then reversed"),
    "mixed": ("driftway.producers.streams.mixed:RECIPE", "4 stages, 2 bits and 2 numbers, a rule that is reversed"),
    "friedman": ("driftway.producers.streams.friedman:RECIPE", "10 features, regression, three kinds of drift"),
    "arma": (
        "driftway.producers.streams.arma:RECIPE",
        "a time series, regression, an ARMA process of known innovations",
    ),
    "ratings": (
        "driftway.producers.streams.ratings:RECIPE",
        "user and item, regression, ratings from known factors or blocks",
    ),
}
"""name -> (module:attribute, one-line description)."""


def find_recipe(name: str) -> GeneratorSpec:
    """The recipe of the generator `name`, which must be in `GENERATORS`."""
    module, attribute = GENERATORS[name][0].split(":")
    recipe: GeneratorSpec = getattr(import_module(module), attribute)
    return recipe
