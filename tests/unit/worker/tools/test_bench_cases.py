"""What a bench measures: the case as a name, as an object, and as the worker's command line."""

from __future__ import annotations

from worker.kafka.topics import Topics
from worker.tools.bench.cases import WORKER, Case, Effort, expand
from worker.tools.bench.report import Result
from worker.tools.bench.side import Side


def swept(*forms: str) -> list[Case]:
    """A sweep over the output format alone."""
    given = {name: [value] for name, value in vars(Case()).items()}
    return list(expand({**given, "output_form": list(forms)}))


def test_the_output_format_is_a_field_of_the_case_and_shares_the_input() -> None:
    plain, packed = swept("json", "packed")
    assert (plain.output_form, packed.output_form) == ("json", "packed")
    assert plain.rows_key == packed.rows_key
    assert "json (6 decimals) in, json out" in plain.named()
    assert "json (6 decimals) in, packed out" in packed.named()
    assert Result(packed, Effort(0, 0), 1, [], []).as_object()["settings"]["output_form"] == "packed"


def test_the_worker_is_told_the_output_format_and_the_bare_client_is_not() -> None:
    (case,) = swept("packed")
    told = {side: Side(side, case, "h:1", {}, Topics("E", "g"), True)._argv for side in (WORKER, "passthrough")}
    at = told[WORKER].index("--output-format")
    assert told[WORKER][at + 1] == "packed"
    assert "packed" not in " ".join(told["passthrough"])
