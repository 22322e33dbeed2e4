"""Every learner by name: the one place to look, and the one line to add.

Names map to ``module:Class`` so that importing this module, or listing names, compiles nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from learners.learner import Learner

LEARNERS: dict[str, str] = {
    "majority_class": "learners.baselines.majority_class:MajorityClass",
    "no_change": "learners.baselines.no_change:NoChange",
    "running_mean": "learners.baselines.running_mean:RunningMean",
    "gaussian_nb": "learners.bayesian.gaussian_nb:GaussianNB",
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
    "quadratic_perceptron": "learners.linear.quadratic_perceptron:QuadraticPerceptron",
    "pa_regressor": "learners.linear.pa_regressor:PARegressor",
    "pa1_regressor": "learners.linear.pa1_regressor:PA1Regressor",
    "pa2_regressor": "learners.linear.pa2_regressor:PA2Regressor",
    "aromma": "learners.linear.aromma:AROMMA",
    "winnow": "learners.linear.winnow:Winnow",
    "tracking_winnow": "learners.linear.tracking_winnow:TrackingWinnow",
    "alma_gentile": "learners.linear.alma_gentile:ALMAGentile",
    "pa_uniclass": "learners.linear.pa_uniclass:PAUniclass",
    "pa1_uniclass": "learners.linear.pa1_uniclass:PA1Uniclass",
    "pa2_uniclass": "learners.linear.pa2_uniclass:PA2Uniclass",
    "conjunction": "learners.linear.conjunction:Conjunction",
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
    "truncated_gradient": "learners.sparse.truncated_gradient:TruncatedGradient",
    "fobos_l1": "learners.sparse.fobos_l1:FOBOSL1",
    "rda_l1": "learners.sparse.rda_l1:RDAL1",
    "ftrl_proximal": "learners.sparse.ftrl_proximal:FTRLProximal",
    "beta_bernoulli": "learners.bayesian.beta_bernoulli:BetaBernoulli",
    "bayes_linear": "learners.bayesian.bayes_linear:BayesLinear",
    "bayes_probit": "learners.bayesian.bayes_probit:BayesProbit",
    "hmm_filter": "learners.state_space.hmm_filter:HMMFilter",
    "particle_filter": "learners.state_space.particle_filter:ParticleFilter",
    "mc_perceptron_max": "learners.multiclass.mc_perceptron_max:MCPerceptronMax",
    "mc_perceptron_uniform": "learners.multiclass.mc_perceptron_uniform:MCPerceptronUniform",
    "mc_perceptron_sim": "learners.multiclass.mc_perceptron_sim:MCPerceptronSim",
    "mc_ogd": "learners.multiclass.mc_ogd:MCOGD",
    "mc_softmax": "learners.multiclass.mc_softmax:MCSoftmax",
    "mc_pa": "learners.multiclass.mc_pa:MCPA",
    "mc_pa1": "learners.multiclass.mc_pa1:MCPA1",
    "mc_pa2": "learners.multiclass.mc_pa2:MCPA2",
    "mc_romma": "learners.multiclass.mc_romma:MCROMMA",
    "mc_aromma": "learners.multiclass.mc_aromma:MCAROMMA",
    "mc_cw": "learners.multiclass.mc_cw:MCCW",
    "mc_cw_stdev": "learners.multiclass.mc_cw_stdev:MCCWStdev",
    "mc_arow": "learners.multiclass.mc_arow:MCAROW",
    "mc_nherd": "learners.multiclass.mc_nherd:MCNHERD",
    "mc_scw1": "learners.multiclass.mc_scw1:MCSCW1",
    "mc_scw2": "learners.multiclass.mc_scw2:MCSCW2",
    "arowa": "learners.multiclass.arowa:AROWA",
    "arowa_pair": "learners.multiclass.arowa_pair:AROWAPair",
    "online_odm": "learners.margin_distribution.online_odm:OnlineODM",
    "restarted_odm": "learners.margin_distribution.restarted_odm:RestartedODM",
    "d_odm": "learners.margin_distribution.d_odm:DODM",
    "rls": "learners.forgetting.rls:RLS",
    "dfop": "learners.forgetting.dfop:DFOP",
    "g_dfop": "learners.forgetting.g_dfop:GDFOP",
    "csogd1": "learners.cost_sensitive.csogd1:CSOGD1",
    "csogd2": "learners.cost_sensitive.csogd2:CSOGD2",
    "acog": "learners.cost_sensitive.acog:ACOG",
    "oam_seq": "learners.ranking.oam_seq:OAMSeq",
    "oam_gra": "learners.ranking.oam_gra:OAMGra",
    "opauc": "learners.ranking.opauc:OPAUC",
    "adaoam": "learners.ranking.adaoam:AdaOAM",
    "knn_win": "learners.windows.knn_win:KNNWin",
    "svm_win": "learners.windows.svm_win:SVMWin",
    "svm_fix": "learners.windows.svm_fix:SVMFix",
    "svm_ada": "learners.windows.svm_ada:SVMAda",
    "dwm": "learners.experts.dwm:DWM",
    "flh": "learners.experts.flh:FLH",
    "saol": "learners.experts.saol:SAOL",
    "adaboost_ol": "learners.experts.adaboost_ol:AdaBoostOL",
    "condor": "learners.experts.condor:Condor",
    "mod_ogd_projected": "learners.linear.mod_ogd_projected:ModOGDProjected",
    "eos_elm": "learners.experts.eos_elm:EOSELM",
    "add_exp_d": "learners.experts.add_exp_d:AddExpD",
    "online_bagging": "learners.experts.online_bagging:OnlineBagging",
    "add_exp_c": "learners.experts.add_exp_c:AddExpC",
    "oaue": "learners.experts.oaue:OAUE",
    "learn_pp_nse": "learners.experts.learn_pp_nse:LearnPPNSE",
    "weighted_majority": "learners.experts.weighted_majority:WeightedMajority",
    "kernel_perceptron": "learners.kernels.kernel_perceptron:KernelPerceptron",
    "kernel_norma": "learners.kernels.kernel_norma:KernelNORMA",
    "kernel_norma_zero_margin": "learners.kernels.kernel_norma_zero_margin:KernelNORMAZeroMargin",
    "kernel_alma": "learners.kernels.kernel_alma:KernelALMA",
    "kernel_alma_zero_margin": "learners.kernels.kernel_alma_zero_margin:KernelALMAZeroMargin",
    "budget_perceptron": "learners.kernels.budget_perceptron:BudgetPerceptron",
    "rbp": "learners.kernels.rbp:RBP",
    "forgetron": "learners.kernels.forgetron:Forgetron",
    "projectron": "learners.kernels.projectron:Projectron",
    "projectron_pp": "learners.kernels.projectron_pp:ProjectronPP",
    "bsgd_merge": "learners.kernels.bsgd_merge:BSGDMerge",
    "tvm": "learners.kernels.tvm:TVM",
    "bogd": "learners.kernels.bogd:BOGD",
    "bogd_pp": "learners.kernels.bogd_pp:BOGDPP",
    "bpa_s": "learners.kernels.bpa_s:BPAS",
    "fogd": "learners.kernels.fogd:FOGD",
    "nogd": "learners.kernels.nogd:NOGD",
    "duol": "learners.kernels.duol:DUOL",
    "mc_kernel_perceptron": "learners.kernels.mc_kernel_perceptron:MCKernelPerceptron",
    "mc_norma": "learners.kernels.mc_norma:MCNORMA",
    "online_mf": "learners.applications.online_mf:OnlineMF",
    "oasis_metric": "learners.applications.oasis_metric:OASISMetric",
    "rdml": "learners.applications.rdml:RDML",
    "omtl_perceptron": "learners.applications.omtl_perceptron:OMTLPerceptron",
    "arma_ogd": "learners.applications.arma_ogd:ARMAOGD",
    "arma_ons": "learners.applications.arma_ons:ARMAONS",
    "ossl_gap": "learners.applications.ossl_gap:OSSLGap",
    "online_nmf": "learners.applications.online_nmf:OnlineNMF",
    "omr": "learners.applications.omr:OMR",
    "lol": "learners.local_and_deep.lol:LOL",
    "hbp": "learners.local_and_deep.hbp:HBP",
    "auto": "learners.auto.auto:Auto",
}

ALIASES: dict[str, str] = {"lms": "ogd_square", "aroma": "arowa"}
"""Other names in use -> the name here; listings do not repeat them, and snapshots say the latter."""

WRAPPERS: dict[str, str] = {
    "on_drift": "learners.experts.on_drift:OnDrift",
    "ova": "learners.reductions.one_vs_all:OneVsAll",
    "scaled": "learners.reductions.scaled:Scaled",
}
"""What stands before a learner's name, as in ``ova:pa1``, and makes another learner of it."""


class UnknownLearner(ValueError):
    """No learner has that name; the message names the nearest one."""


def find(name: str) -> type[Learner]:
    """The class registered under `name`, or under what it is an alias of.

    Raises
    ------
    UnknownLearner
        Not in the registry.
    """
    try:
        module, class_name = LEARNERS[ALIASES.get(name, name)].split(":")
    except KeyError:
        if name in WRAPPERS:
            raise UnknownLearner(f"{name} stands before the name of a learner, as in {name}:pa1") from None
        from difflib import get_close_matches

        near = get_close_matches(name, LEARNERS, n=1)
        hint = f"did you mean {near[0]!r}?" if near else "see `driftway learners`"
        raise UnknownLearner(f"no learner {name!r}; {hint}") from None
    found: type[Learner] = getattr(import_module(module), class_name)
    return found


def find_wrapper(name: str) -> Callable[..., Learner]:
    """The wrapper registered under `name`, called as a learner's class is but with that class as first argument."""
    module, class_name = WRAPPERS[name].split(":")
    found: Callable[..., Learner] = getattr(import_module(module), class_name)
    return found
