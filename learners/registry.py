"""Every learner by name: the one place to look, and the one line to add.

Names map to ``module:Class`` so that importing this module, or listing names, compiles nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from learners.learner import Learner

LEARNERS: dict[str, str] = {
    "majority_class": "learners.baselines.majority_class:MajorityClass",
    "no_change": "learners.baselines.no_change:NoChange",
    "perceptron": "learners.linear.perceptron:Perceptron",
    "pa1": "learners.linear.pa1:PA1",
    "pa": "learners.linear.pa:PA",
    "pa2": "learners.linear.pa2:PA2",
    "ogd_hinge": "learners.linear.ogd_hinge:OGDHinge",
    "ogd_logistic": "learners.linear.ogd_logistic:OGDLogistic",
    "ogd_square": "learners.linear.ogd_square:OGDSquare",
    "restarted_ogd": "learners.linear.restarted_ogd:RestartedOGD",
    "pegasos": "learners.linear.pegasos:Pegasos",
    "p_norm_perceptron": "learners.linear.p_norm_perceptron:PNormPerceptron",
    "norma": "learners.linear.norma:NORMA",
    "norma_zero_margin": "learners.linear.norma_zero_margin:NORMAZeroMargin",
    "alma": "learners.linear.alma:ALMA",
    "alma_zero_margin": "learners.linear.alma_zero_margin:ALMAZeroMargin",
    "romma": "learners.linear.romma:ROMMA",
    "averaged_perceptron": "learners.linear.averaged_perceptron:AveragedPerceptron",
    "voted_perceptron": "learners.linear.voted_perceptron:VotedPerceptron",
    "pa_regressor": "learners.linear.pa_regressor:PARegressor",
    "pa1_regressor": "learners.linear.pa1_regressor:PA1Regressor",
    "pa2_regressor": "learners.linear.pa2_regressor:PA2Regressor",
    "aromma": "learners.linear.aromma:AROMMA",
    "winnow": "learners.linear.winnow:Winnow",
    "arow": "learners.second_order.arow:AROW",
    "scw1": "learners.second_order.scw1:SCW1",
    "scw2": "learners.second_order.scw2:SCW2",
    "cw": "learners.second_order.cw:CW",
    "cw_stdev": "learners.second_order.cw_stdev:CWStdev",
    "sop": "learners.second_order.sop:SOP",
    "nherd": "learners.second_order.nherd:NHERD",
    "narow": "learners.second_order.narow:NAROW",
    "iellip": "learners.second_order.iellip:IELLIP",
    "arow_regressor": "learners.second_order.arow_regressor:AROWRegressor",
    "rls": "learners.forgetting.rls:RLS",
    "dfop": "learners.forgetting.dfop:DFOP",
}


class UnknownLearner(ValueError):
    """No learner has that name; the message names the nearest one."""


def find(name: str) -> type[Learner]:
    """The class registered under `name`.

    Raises
    ------
    UnknownLearner
        Not in the registry.
    """
    try:
        module, class_name = LEARNERS[name].split(":")
    except KeyError:
        from difflib import get_close_matches

        near = get_close_matches(name, LEARNERS, n=1)
        hint = f"did you mean {near[0]!r}?" if near else "see `driftway learners`"
        raise UnknownLearner(f"no learner {name!r}; {hint}") from None
    found: type[Learner] = getattr(import_module(module), class_name)
    return found
