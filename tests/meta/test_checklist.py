"""The checklist: every method named in the five documents is implemented, or its absence is explained.

See docs/algorithms/checklist.md#where-everything-comes-from.
"""

from __future__ import annotations

from importlib import import_module

import pytest

from driftway.learners.drift.registry import DETECTORS
from driftway.learners.online_to_batch.registry import PROCEDURES
from driftway.learners.registry import ALIASES, LEARNERS, WRAPPERS
from driftway.producers.streams.registry import GENERATORS
from driftway.worker.settings.option_values import SharingOption

ON_A_TOPIC = """
    perceptron averaged_perceptron voted_perceptron p_norm_perceptron norma norma_zero_margin alma alma_zero_margin
    alma_gentile romma aromma winnow tracking_winnow pa pa1 pa2 pa_regressor pa1_regressor pa2_regressor pa_uniclass
    pa1_uniclass pa2_uniclass ogd_hinge ogd_logistic ogd_square lms pegasos restarted_ogd conjunction majority_class
    no_change running_mean gaussian_nb sop cw cw_stdev scw1 scw2 arow arow_regressor nherd narow iellip arowa aroma
    truncated_gradient fobos_l1 rda_l1 ftrl_proximal beta_bernoulli bayes_linear bayes_probit hmm_filter particle_filter
    kernel_perceptron kernel_norma kernel_norma_zero_margin kernel_alma kernel_alma_zero_margin budget_perceptron rbp
    forgetron projectron projectron_pp bsgd_merge tvm bogd bogd_pp bpa_s fogd nogd duol mc_perceptron_max
    mc_perceptron_uniform mc_perceptron_sim mc_ogd mc_softmax mc_pa mc_pa1 mc_pa2 mc_romma mc_aromma mc_cw mc_cw_stdev
    mc_arow mc_nherd mc_scw1 mc_scw2 mc_kernel_perceptron mc_norma lol hbp online_odm restarted_odm d_odm rls dfop
    g_dfop svm_win svm_fix svm_ada knn_win dwm weighted_majority add_exp_d add_exp_c adaboost_ol online_bagging eos_elm
    learn_pp_nse oaue flh saol condor mod_ogd_projected csogd1 csogd2 acog oam_seq oam_gra opauc adaoam online_mf
    oasis_metric rdml omtl_perceptron omr ossl_gap arma_ogd arma_ons online_nmf
""".split()  # noqa: SIM905 - a list of its own lines would be the longest in the repository
WRAPPED = "ova", "on_drift"
WATCHING = "ddm", "eddm", "page_hinkley", "adwin", "hddm_a", "hddm_w"
GENERATED = (
    *("sea", "hyperplane_staged", "hyperplane_rotating", "hyperplane_regression"),
    *("gaussian_mixture_drift", "gaussian_mixture_switch"),
    *(f"archive:{name}" for name in ("1CDT", "1CHT", "2CDT", "2CHT", "MG-2C-2D")),
)
ON_A_BOUNDED_SET = "i", "ii", "iii-weak", "iii", "random-stopping", "longest-survival", "average", "cutoff-average"
"""Methods of `driftway train`: they make repeated passes over all rows, impossible on an endless topic."""
COMPUTED = {
    "tune_alma": "driftway.learners.hindsight.tuning",  # parameter choice from known bounds, not a learner
    "tune_norma": "driftway.learners.hindsight.tuning",
    "odm_batch": "driftway.learners.hindsight.odm_batch",  # comparator for regret, in hindsight
    "best_switching": "driftway.learners.hindsight.regret",
    "segment_costs": "driftway.learners.hindsight.regret",
    "robustness_of_errors": "driftway.workbench.paper_tables.experiments.picture",
}
"""Function -> its module."""
BETWEEN_PARTITIONS = {"dist_average": "average", "dist_gossip": "gossip"}
"""Method -> its name in `--share-models`; it works with any linear learner and is not a learner itself."""


def test_every_learner_is_registered():
    assert [name for name in ON_A_TOPIC if name not in LEARNERS and name not in ALIASES] == []
    assert [name for name in WRAPPED if name not in WRAPPERS] == []


def test_every_detector_generator_and_procedure_is_registered():
    assert [name for name in WATCHING if name not in DETECTORS] == []
    assert [name for name in GENERATED if name not in GENERATORS] == []
    assert list(ON_A_BOUNDED_SET) == list(PROCEDURES)


@pytest.mark.parametrize(("name", "place"), COMPUTED.items())
def test_methods_that_are_not_learners_are_functions(name, place):
    assert callable(getattr(import_module(place), name))


@pytest.mark.parametrize(("name", "method"), BETWEEN_PARTITIONS.items())
def test_every_averaging_method_can_be_shared_between_partitions(name, method):
    assert SharingOption.parse(f"{method}:rows=10") == SharingOption(method, 10)
    assert name not in LEARNERS
