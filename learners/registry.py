"""The registry of all learners by name; a new learner adds one line here.

Names map to ``module:Class`` so that neither importing this module nor listing names compiles anything.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from driftway.learners.engine.suggestion import did_you_mean

if TYPE_CHECKING:
    from driftway.learners.learner import Learner

LEARNERS: dict[str, str] = {
    "majority_class": "driftway.learners.baselines.majority_class:MajorityClass",
    "no_change": "driftway.learners.baselines.no_change:NoChange",
    "running_mean": "driftway.learners.baselines.running_mean:RunningMean",
    "gaussian_nb": "driftway.learners.bayesian.gaussian_nb:GaussianNB",
    "perceptron": "driftway.learners.linear.perceptron:Perceptron",
    "pa1": "driftway.learners.linear.pa1:PA1",
    "pa": "driftway.learners.linear.pa:PA",
    "pa2": "driftway.learners.linear.pa2:PA2",
    "ogd_hinge": "driftway.learners.linear.ogd_hinge:OGDHinge",
    "ogd_logistic": "driftway.learners.linear.ogd_logistic:OGDLogistic",
    "ogd_square": "driftway.learners.linear.ogd_square:OGDSquare",
    "ogd_huber": "driftway.learners.linear.ogd_huber:OGDHuber",
    "restarted_ogd": "driftway.learners.linear.restarted_ogd:RestartedOGD",
    "pegasos": "driftway.learners.linear.pegasos:Pegasos",
    "p_norm_perceptron": "driftway.learners.linear.p_norm_perceptron:PNormPerceptron",
    "norma": "driftway.learners.linear.norma:NORMA",
    "norma_zero_margin": "driftway.learners.linear.norma_zero_margin:NORMAZeroMargin",
    "alma": "driftway.learners.linear.alma:ALMA",
    "alma_zero_margin": "driftway.learners.linear.alma_zero_margin:ALMAZeroMargin",
    "romma": "driftway.learners.linear.romma:ROMMA",
    "averaged_perceptron": "driftway.learners.linear.averaged_perceptron:AveragedPerceptron",
    "voted_perceptron": "driftway.learners.linear.voted_perceptron:VotedPerceptron",
    "quadratic_perceptron": "driftway.learners.linear.quadratic_perceptron:QuadraticPerceptron",
    "pa_regressor": "driftway.learners.linear.pa_regressor:PARegressor",
    "pa1_regressor": "driftway.learners.linear.pa1_regressor:PA1Regressor",
    "pa2_regressor": "driftway.learners.linear.pa2_regressor:PA2Regressor",
    "aromma": "driftway.learners.linear.aromma:AROMMA",
    "winnow": "driftway.learners.linear.winnow:Winnow",
    "tracking_winnow": "driftway.learners.linear.tracking_winnow:TrackingWinnow",
    "alma_gentile": "driftway.learners.linear.alma_gentile:ALMAGentile",
    "pa_uniclass": "driftway.learners.linear.pa_uniclass:PAUniclass",
    "pa1_uniclass": "driftway.learners.linear.pa1_uniclass:PA1Uniclass",
    "pa2_uniclass": "driftway.learners.linear.pa2_uniclass:PA2Uniclass",
    "conjunction": "driftway.learners.linear.conjunction:Conjunction",
    "arow": "driftway.learners.second_order.arow:AROW",
    "scw1": "driftway.learners.second_order.scw1:SCW1",
    "scw2": "driftway.learners.second_order.scw2:SCW2",
    "cw": "driftway.learners.second_order.cw:CW",
    "cw_stdev": "driftway.learners.second_order.cw_stdev:CWStdev",
    "sop": "driftway.learners.second_order.sop:SOP",
    "nherd": "driftway.learners.second_order.nherd:NHERD",
    "narow": "driftway.learners.second_order.narow:NAROW",
    "iellip": "driftway.learners.second_order.iellip:IELLIP",
    "arow_regressor": "driftway.learners.second_order.arow_regressor:AROWRegressor",
    "truncated_gradient": "driftway.learners.sparse.truncated_gradient:TruncatedGradient",
    "fobos_l1": "driftway.learners.sparse.fobos_l1:FOBOSL1",
    "rda_l1": "driftway.learners.sparse.rda_l1:RDAL1",
    "ftrl_proximal": "driftway.learners.sparse.ftrl_proximal:FTRLProximal",
    "beta_bernoulli": "driftway.learners.bayesian.beta_bernoulli:BetaBernoulli",
    "bayes_linear": "driftway.learners.bayesian.bayes_linear:BayesLinear",
    "bayes_probit": "driftway.learners.bayesian.bayes_probit:BayesProbit",
    "hmm_filter": "driftway.learners.bayesian.hmm_filter:HMMFilter",
    "particle_filter": "driftway.learners.bayesian.particle_filter:ParticleFilter",
    "mc_perceptron_max": "driftway.learners.multiclass.mc_perceptron_max:MCPerceptronMax",
    "mc_perceptron_uniform": "driftway.learners.multiclass.mc_perceptron_uniform:MCPerceptronUniform",
    "mc_perceptron_sim": "driftway.learners.multiclass.mc_perceptron_sim:MCPerceptronSim",
    "mc_ogd": "driftway.learners.multiclass.mc_ogd:MCOGD",
    "mc_softmax": "driftway.learners.multiclass.mc_softmax:MCSoftmax",
    "mc_pa": "driftway.learners.multiclass.mc_pa:MCPA",
    "mc_pa1": "driftway.learners.multiclass.mc_pa1:MCPA1",
    "mc_pa2": "driftway.learners.multiclass.mc_pa2:MCPA2",
    "mc_romma": "driftway.learners.multiclass.mc_romma:MCROMMA",
    "mc_aromma": "driftway.learners.multiclass.mc_aromma:MCAROMMA",
    "mc_cw": "driftway.learners.multiclass.mc_cw:MCCW",
    "mc_cw_stdev": "driftway.learners.multiclass.mc_cw_stdev:MCCWStdev",
    "mc_arow": "driftway.learners.multiclass.mc_arow:MCAROW",
    "mc_nherd": "driftway.learners.multiclass.mc_nherd:MCNHERD",
    "mc_scw1": "driftway.learners.multiclass.mc_scw1:MCSCW1",
    "mc_scw2": "driftway.learners.multiclass.mc_scw2:MCSCW2",
    "arowa": "driftway.learners.multiclass.arowa:AROWA",
    "arowa_pair": "driftway.learners.multiclass.arowa_pair:AROWAPair",
    "online_odm": "driftway.learners.margin_distribution.online_odm:OnlineODM",
    "restarted_odm": "driftway.learners.margin_distribution.restarted_odm:RestartedODM",
    "d_odm": "driftway.learners.margin_distribution.d_odm:DODM",
    "rls": "driftway.learners.least_squares.rls:RLS",
    "dfop": "driftway.learners.least_squares.dfop:DFOP",
    "g_dfop": "driftway.learners.least_squares.g_dfop:GDFOP",
    "csogd1": "driftway.learners.imbalanced.csogd1:CSOGD1",
    "csogd2": "driftway.learners.imbalanced.csogd2:CSOGD2",
    "acog": "driftway.learners.imbalanced.acog:ACOG",
    "oam_seq": "driftway.learners.imbalanced.oam_seq:OAMSeq",
    "oam_gra": "driftway.learners.imbalanced.oam_gra:OAMGra",
    "opauc": "driftway.learners.imbalanced.opauc:OPAUC",
    "adaoam": "driftway.learners.imbalanced.adaoam:AdaOAM",
    "knn_win": "driftway.learners.windows.knn_win:KNNWin",
    "svm_win": "driftway.learners.windows.svm_win:SVMWin",
    "svm_fix": "driftway.learners.windows.svm_fix:SVMFix",
    "svm_ada": "driftway.learners.windows.svm_ada:SVMAda",
    "dwm": "driftway.learners.ensembles.dwm:DWM",
    "flh": "driftway.learners.ensembles.flh:FLH",
    "saol": "driftway.learners.ensembles.saol:SAOL",
    "adaboost_ol": "driftway.learners.ensembles.adaboost_ol:AdaBoostOL",
    "condor": "driftway.learners.ensembles.condor:Condor",
    "mod_ogd_projected": "driftway.learners.linear.mod_ogd_projected:ModOGDProjected",
    "eos_elm": "driftway.learners.ensembles.eos_elm:EOSELM",
    "add_exp_d": "driftway.learners.ensembles.add_exp_d:AddExpD",
    "online_bagging": "driftway.learners.ensembles.online_bagging:OnlineBagging",
    "add_exp_c": "driftway.learners.ensembles.add_exp_c:AddExpC",
    "oaue": "driftway.learners.ensembles.oaue:OAUE",
    "learn_pp_nse": "driftway.learners.ensembles.learn_pp_nse:LearnPPNSE",
    "weighted_majority": "driftway.learners.ensembles.weighted_majority:WeightedMajority",
    "kernel_perceptron": "driftway.learners.kernel_methods.kernel_perceptron:KernelPerceptron",
    "kernel_norma": "driftway.learners.kernel_methods.kernel_norma:KernelNORMA",
    "kernel_norma_zero_margin": "driftway.learners.kernel_methods.kernel_norma_zero_margin:KernelNORMAZeroMargin",
    "kernel_alma": "driftway.learners.kernel_methods.kernel_alma:KernelALMA",
    "kernel_alma_zero_margin": "driftway.learners.kernel_methods.kernel_alma_zero_margin:KernelALMAZeroMargin",
    "budget_perceptron": "driftway.learners.kernel_methods.budget_perceptron:BudgetPerceptron",
    "rbp": "driftway.learners.kernel_methods.rbp:RBP",
    "forgetron": "driftway.learners.kernel_methods.forgetron:Forgetron",
    "projectron": "driftway.learners.kernel_methods.projectron:Projectron",
    "projectron_pp": "driftway.learners.kernel_methods.projectron_pp:ProjectronPP",
    "bsgd_merge": "driftway.learners.kernel_methods.bsgd_merge:BSGDMerge",
    "tvm": "driftway.learners.kernel_methods.tvm:TVM",
    "bogd": "driftway.learners.kernel_methods.bogd:BOGD",
    "bogd_pp": "driftway.learners.kernel_methods.bogd_pp:BOGDPP",
    "bpa_s": "driftway.learners.kernel_methods.bpa_s:BPAS",
    "fogd": "driftway.learners.kernel_methods.fogd:FOGD",
    "nogd": "driftway.learners.kernel_methods.nogd:NOGD",
    "duol": "driftway.learners.kernel_methods.duol:DUOL",
    "mc_kernel_perceptron": "driftway.learners.kernel_methods.mc_kernel_perceptron:MCKernelPerceptron",
    "mc_norma": "driftway.learners.kernel_methods.mc_norma:MCNORMA",
    "online_mf": "driftway.learners.other_tasks.online_mf:OnlineMF",
    "oasis_metric": "driftway.learners.other_tasks.oasis_metric:OASISMetric",
    "rdml": "driftway.learners.other_tasks.rdml:RDML",
    "omtl_perceptron": "driftway.learners.other_tasks.omtl_perceptron:OMTLPerceptron",
    "arma_ogd": "driftway.learners.other_tasks.arma_ogd:ARMAOGD",
    "arma_ons": "driftway.learners.other_tasks.arma_ons:ARMAONS",
    "ossl_gap": "driftway.learners.other_tasks.ossl_gap:OSSLGap",
    "online_nmf": "driftway.learners.other_tasks.online_nmf:OnlineNMF",
    "omr": "driftway.learners.other_tasks.omr:OMR",
    "lol": "driftway.learners.ensembles.lol:LOL",
    "hbp": "driftway.learners.neural.hbp:HBP",
    "hoeffding_tree": "driftway.learners.trees.hoeffding_tree:HoeffdingTree",
    "hoeffding_adaptive_tree": "driftway.learners.trees.hoeffding_adaptive_tree:HoeffdingAdaptiveTree",
    "adaptive_random_forest": "driftway.learners.trees.adaptive_random_forest:AdaptiveRandomForest",
    "streaming_random_patches": "driftway.learners.trees.streaming_random_patches:StreamingRandomPatches",
    "streaming_gradient_boosting": "driftway.learners.trees.streaming_gradient_boosting:StreamingGradientBoosting",
    "auto": "driftway.learners.auto.auto:Auto",
}

ALIASES: dict[str, str] = {"lms": "ogd_square", "aroma": "arowa"}
"""Alias -> registered name; listings omit aliases, and snapshots hold the registered name."""

WRAPPERS: dict[str, str] = {
    "on_drift": "driftway.learners.ensembles.on_drift:OnDrift",
    "ova": "driftway.learners.ensembles.one_vs_all:OneVsAll",
    "scaled": "driftway.learners.preprocessing.fixed_scaler:FixedScaler",
}
"""Prefixes of a learner's name, as in ``ova:pa1``, that wrap the learner in another one."""

ELSEWHERE: dict[str, str] = {
    "river": "models of River are learners of `driftway evaluate --learner` alone: a worker cannot store their state"
}
"""Prefixes of what is no learner here -> where it is one, and why not here."""


STANDARDIZER = "driftway.learners.preprocessing.standardizer:OnlineStandardizer"
"""The standardiser in front of nearly every learner, unless it is switched off."""


class UnknownLearner(ValueError):
    """No learner has that name; the message suggests the closest one."""


def find(name: str) -> type[Learner]:
    """Return the class registered under `name`, which may be an alias.

    Raises
    ------
    UnknownLearner
        The name is not in the registry.
    """
    try:
        path = LEARNERS[ALIASES.get(name, name)]
    except KeyError:
        if name in WRAPPERS:
            raise UnknownLearner(f"{name} goes before the name of a learner, as in {name}:pa1") from None
        hint = did_you_mean(name, LEARNERS, "see `driftway learners`")
        raise UnknownLearner(f"no learner {name!r}; {hint}") from None
    found: type[Learner] = _imported(path)
    return found


def find_wrapper(name: str) -> Callable[..., Learner]:
    """Return the wrapper registered under `name`; it is called like a learner's class, which is its first argument."""
    found: Callable[..., Learner] = _imported(WRAPPERS[name])
    return found


def find_standardizer() -> Callable[[Learner], Learner]:
    """Return the online standardiser; it is called with the learner to wrap."""
    found: Callable[[Learner], Learner] = _imported(STANDARDIZER)
    return found


def _imported(path: str) -> Any:
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)
