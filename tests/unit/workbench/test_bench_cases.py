"""What a bench measures: a case as a name, as an object, and as the worker's command line."""

from __future__ import annotations

import json

from driftway.workbench.bench.cases import LIMIT, PASSTHROUGH, SIDES, WORKER, Case, Repetitions, expand, order
from driftway.workbench.bench.contender import Contender
from driftway.workbench.bench.report import BenchResult
from driftway.workbench.bench.throughput import Run
from driftway.workbench.bench.workload import blocks
from driftway.worker.kafka.topics import Topics


def swept(*forms: str) -> list[Case]:
    """Return a sweep over the output format alone."""
    given = {name: [value] for name, value in vars(Case()).items()}
    return list(expand({**given, "output_form": list(forms)}))


def test_the_output_format_is_a_field_of_the_case_and_shares_the_input() -> None:
    plain, packed = swept("json", "packed")
    assert (plain.output_form, packed.output_form) == ("json", "packed")
    assert plain.rows_key == packed.rows_key
    assert "json (6 decimals) in, json out" in plain.named()
    assert "json (6 decimals) in, packed out" in packed.named()
    assert BenchResult(packed, Repetitions(0, 0), 1, [], []).as_object()["settings"]["output_form"] == "packed"


def test_the_worker_gets_the_output_format_and_the_bare_client_does_not() -> None:
    (case,) = swept("packed")
    argvs = {side: Contender(side, case, "h:1", {}, Topics("E", "g"), True)._argv for side in (WORKER, "passthrough")}
    at = argvs[WORKER].index("--output-format")
    assert argvs[WORKER][at + 1] == "packed"
    assert "packed" not in " ".join(argvs["passthrough"])


def test_mapped_events_are_the_named_ones_with_their_features_beside_the_other_fields() -> None:
    plain, named, mapped = (Case(features=3, form=form) for form in ("json", "named", "mapped"))
    rows = [[json.loads(value) for value in next(iter(blocks(case, 20)))] for case in (plain, named, mapped)]
    for listed, inside, beside in zip(*rows, strict=True):
        assert list(inside["x"].values()) == listed["x"]
        assert beside == {"id": inside["id"], **inside["x"], "y": inside["y"]}
    argvs = {
        case.form: Contender(WORKER, case, "h:1", {}, Topics("E", "g"), True)._argv for case in (plain, named, mapped)
    }
    assert [argvs[form].count("--feature") for form in argvs] == [0, 0, 3]
    assert [argvs[form].count("--features") for form in argvs] == [1, 0, 0]
    assert [argvs[form][argvs[form].index("--format") + 1] for form in argvs] == ["json"] * 3


def test_both_copiers_are_modules_with_the_same_arguments() -> None:
    (case,) = swept("json")
    copiers = [Contender(side, case, "h:1", {}, Topics("E", "g"), True)._argv for side in (PASSTHROUGH, LIMIT)]
    assert [argv[3] for argv in copiers] == [
        "driftway.workbench.bench.python_copy",
        "driftway.workbench.bench.native_copy",
    ]
    assert copiers[0][4:] == copiers[1][4:]


def test_ratios_are_to_each_of_those_that_were_measured() -> None:
    (case,) = swept("json")
    speeds = {PASSTHROUGH: 200.0, LIMIT: 800.0, WORKER: 400.0}
    runs = [Run(0, side, speed, 1.0, 1, 1.0) for side, speed in speeds.items()]
    result = BenchResult(case, Repetitions(1, 0), 1, runs, [])
    assert result.ratios("messages_per_second") == [2.0]
    assert result.ratios("messages_per_second", LIMIT) == [0.5]
    without = BenchResult(case, Repetitions(1, 0, sides=(PASSTHROUGH, WORKER)), 1, [runs[0], runs[2]], [])
    assert without.as_object()["ratios_to_limit"] == {}


def test_everybody_goes_first_as_often_as_last() -> None:
    assert [order(pair, SIDES)[0] for pair in range(4)] == [PASSTHROUGH, WORKER, PASSTHROUGH, WORKER]
