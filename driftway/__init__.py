"""Driftway: online learning under concept drift as a Kafka stream-processing worker, and as a library.

>>> import driftway as dw
>>> model = dw.create("auto")
>>> model.predict_one({"amount": 12.5, "hour": 3})
>>> model.learn_one({"amount": 12.5, "hour": 3}, True)

`driftway.learners` has the learners, `driftway.worker` the worker, `driftway.producers` streams and their replay,
`driftway.library` the library, `driftway.workbench` tools for developers, and `driftway.cli` the command line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from driftway.library.classifier import Classifier
    from driftway.library.create import create, detector, stream
    from driftway.library.load import load
    from driftway.library.regressor import Regressor

    __commit__: str | None
    """The commit of the checkout, or that the package was built from; None if it is not known."""

__version__ = "0.1.0"
__all__ = ["Classifier", "Regressor", "__version__", "create", "detector", "load", "stream"]

_MODULES = {
    "Classifier": "classifier",
    "Regressor": "regressor",
    "create": "create",
    "detector": "create",
    "load": "load",
    "stream": "create",
}


def __getattr__(name: str) -> Any:
    """Import a name of the library when it is first used: the command line must not wait for it."""
    from importlib import import_module

    if name == "__commit__":
        from driftway.version import commit

        return commit()
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"driftway.library.{_MODULES[name]}"), name)
