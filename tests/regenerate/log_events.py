"""`python -m tests.regenerate.log_events`: docs/reference/log-events.md, every line that a worker may log.

Names, levels and fields are read off the calls in the source, meanings are those of `MEANINGS`. A name without a
meaning, or a meaning without a call, is an error.
"""

from __future__ import annotations

import ast
import os
from pathlib import Path
from typing import NamedTuple

from tests.regenerate.metrics import ACTIONS

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "log-events.md"
COMMAND = "python -m tests.regenerate.log_events"
LEVELS = {"event": "info", "warning": "warning", "error": "error"}
"""Method of `EventLog` -> the level of its lines."""

HEAD = f"""# Log events

A worker writes these lines to standard error. With `--log-format json` the name is in the field `event`, beside
`time`, `level`, `logger` and the fields below ([the log]({os.pardir}/how-to/operate.md#the-log)). Some fields are not
in every line, and new fields may come with any version. For warnings of libraries, and for messages without a name,
`event` is the message. This page is generated from the code by `{COMMAND}`.
"""
NAMED_LATER = {
    "client_errors.py": ("client error", "throttled"),
    "progress_log.py": ("label set aside", "rejected"),
    "worker.py": ("commit failed", "restore failed"),
}
"""File in which a name is handed to the call -> the names; else it is the call's first argument."""
MEANINGS = {
    "Start": {
        "starting": "the first line; `settings` has all options in force, without secrets",
        "renamed option": "an option was given under its old name; `note` has the new name",
        "python client": "the native client cannot be used; `note` says why",
        "warm start": "the model file from which the champion starts",
        "listening": "the port of `--http-port` is open",
        "schema of predictions": "the schema of predictions in the registry",
        "created topic": "a missing output topic was created",
        "added partitions": "partitions were added to output topics, so that they have as many as the input",
        "compacted input": "the input is compacted: its log cannot be relearned or audited",
        "topic settings": "a topic setting that may lose data, and the recommended one",
        "compiling kernels": "with `about_seconds`: kernels are not in the cache yet; with `done`: progress",
        "kernels are compiled": "the number of kernels that had to be compiled; 0: all were in the cache",
        "spans": "spans of batches and commits are sent to this endpoint",
        "no spans": "an endpoint for spans is set, but no spans are sent; `error` says why",
    },
    "Group and partitions": {
        "subscribed": "the worker has asked to join the group",
        "not admitted to the group, trying again": "another member has the same name, or the group forgot this one",
        "waiting for partitions": "the group has assigned no partitions for so many seconds; `note` says what it waits "
        "for",
        "waiting for partitions of other members": "with `--stop-at-end`: these partitions are not read to "
        "their end; if their member has died, this worker gets them when its session ends",
        "assigned": "the group has given these partitions to this worker",
        "revoked": "the group takes these partitions away from this worker, which commits them first",
        "lost": "these partitions went to other workers before they could be committed; those workers repeat what is "
        "missing",
        "the group left partitions unassigned, triggering a rebalance": "no member of the group owned these partitions "
        "of the input",
        "restored": "the state of a partition is restored; `note` says what was unusual, for example an older "
        "snapshot",
        "running": "the partition's events are predicted from offset `position` on",
        "left": "the worker has left the group; the last line of a clean shutdown",
    },
    "Work": {
        "working": "every minute: progress since the last such line; `lag` does not count the partitions "
        "`not_running`, whose state is not restored yet",
        "summary": "at the end: the totals",
        "rejected": "the first event of its kind that cannot be used; `at` is its place in the input, and `note` says "
        "what to do about features with other names",
        "label set aside": "the first label of its kind that cannot be used; its event is predicted",
        "more rejected": "how many more events and labels of each kind were rejected or set aside",
        "nothing usable so far": "every event so far was rejected: the topic or the options are wrong",
        "nothing usable": "at the end: every event was rejected",
        "unknown field": "the first event that has a field which is not read, with `--unknown-fields count`",
        "drift": "a detector has reported a drift; `besides` is the number of other alarms within the same second",
        "timestamps ahead or behind": "records whose timestamps do not fit those of the records around them",
        "rows wait behind an open transaction of another producer": "another producer has not ended its transaction, "
        "so records behind it cannot be read",
    },
    "Models": {
        "the options are the next plan": "with `--plan from-options`: the options replace the group's plan",
        "newest plan": "at the start: the group's plan of models",
        "new plan": "the group's models were changed; the worker is ready to apply the plan",
        "plan adopted": "from `offset` on, the partition uses the models of this plan",
        "plan passed over": "the plan cannot be used; `error` says why; the models stay as they are",
        "plan reader error": "the topic of plans cannot be read at the moment",
        "relearning": "a challenger relearns the log of a partition in the background",
        "relearned": "the challenger has caught up with the partition",
        "relearning interrupted": "the log cannot be read at the moment; relearning continues later",
        "relearning failed": "relearning cannot continue; the plan is not used",
        "challengers are watched": "with `--promote`: the significance level that the test of each challenger must "
        "reach",
        "promoted": "with `--promote`: a challenger is the champion of the next plan",
        "promotion error": "accuracy points cannot be read at the moment",
    },
    "Failures": {
        "commit failed": "a commit failed; `action` says what the worker does about it",
        "last commit failed": "the last commit of a partition that this worker gives up; its next owner starts from "
        "the commit before it",
        "smaller transactions": "the broker did not take a transaction in time; the next ones have at most `rows` rows",
        "restore failed": "a restore failed; it is tried again unless `action` is `fatal`",
        "unexpected offset": "a record does not have the requested offset; the partition is restored",
        "labels not read": "the label topic has more partitions than the input",
        "input lost": "the log no longer has the next offsets",
        "seek refused": "the client could not seek to an offset; it is tried again",
        "unreadable batch": "a batch of the input cannot be decompressed or parsed",
        "consumer error": "an error of the Kafka consumer in the group",
        "label reader error": "the label topic cannot be read at the moment",
        "share reader error": "the topic of shares cannot be read at the moment",
        "client error": "a Kafka client reports an error; clients recover from most errors by themselves",
        "throttled": "a broker throttles this client because of a quota",
        "the cluster does not answer, asking again": "no broker answers, or a partition has no leader",
        "the cluster answers again": "the outage is over; it took `seconds`",
        "the loop is stuck": "the poll loop has not run for `seconds`; `stacks` has the stack of each thread",
        "the loop is stuck, stacks of all threads follow": "the same, in the text format",
        "log was interrupted": "lines could not be written, for example because the disk was full; `lines_missing` is "
        "their number",
        "spans may be lost": "at most once a minute: the collector cannot be reached, refuses spans, or is too slow",
        "no more spans": "a span could not be created; the worker continues without spans",
        "uncaught exception": "a bug in Driftway or in a library, with its `traceback`; please report it",
        "ignored exception": "an exception that Python could not raise anywhere",
        "failed": "the last line before the worker exits with a code other than 0",
    },
}  # fmt: skip
"""Section -> name of an event -> what it says."""


class Call(NamedTuple):
    """What a call in the source logs; `fields` are those that it names."""

    name: str
    level: str
    fields: tuple[str, ...]


def calls() -> list[Call]:
    """Return every call of an event log below worker/."""
    found = [Call("log was interrupted", "warning", ("lines_missing",))]  # written by the log itself
    for path in sorted((ROOT / "worker").rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
        for function in functions:
            found += _calls_of(function, functions, NAMED_LATER.get(path.name, ()))
    return found


def _calls_of(function: ast.FunctionDef, functions: list[ast.FunctionDef], named_later: tuple[str, ...]) -> list[Call]:
    """Return the calls in a function, but for those in functions within it; `functions` are all of the file."""
    inner = [one for one in ast.walk(function) if isinstance(one, ast.FunctionDef) and one is not function]
    within = {id(node) for one in inner for node in ast.walk(one)}
    found = []
    for node in ast.walk(function):
        if id(node) in within or not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        if node.func.attr not in LEVELS or "event_log" not in ast.unparse(node.func.value):
            continue
        first = node.args[0]
        names = (str(first.value),) if isinstance(first, ast.Constant) else named_later
        parts = [part for word in node.keywords for part in _fields(word, function, functions)]
        found += [Call(name, LEVELS[node.func.attr], tuple(dict.fromkeys(parts))) for name in names]
    return found


def _fields(word: ast.keyword, function: ast.FunctionDef, functions: list[ast.FunctionDef]) -> list[str]:
    """Return the fields that a keyword gives: itself, or with ** the keys of the dicts that it is made of."""
    if word.arg is not None:
        return [word.arg]
    return _keys(word.value, function, functions)


def _keys(value: ast.AST, function: ast.FunctionDef, functions: list[ast.FunctionDef]) -> list[str]:
    """Return the keys of all dicts in an expression, in the variables and in the functions of the file that it uses."""
    used = {node.id for node in ast.walk(value) if isinstance(node, ast.Name)}
    assigned = [node for node in ast.walk(function) if isinstance(node, ast.Assign)]
    parts = [value] + [one.value for one in assigned if used & {ast.unparse(target) for target in one.targets}]
    called = [node.func for part in parts for node in ast.walk(part) if isinstance(node, ast.Call)]
    names = {ast.unparse(one).removeprefix("self.") for one in called}
    bodies = [other for other in functions if other.name in names and other is not function]
    dicts = [node for part in (*parts, *bodies) for node in ast.walk(part) if isinstance(node, ast.Dict)]
    return [str(key.value) for one in dicts for key in one.keys if isinstance(key, ast.Constant)]


def page() -> str:
    """Return the page.

    Raises
    ------
    ValueError
        An event has no meaning, or a meaning no event.
    """
    found = calls()
    known = {name for section in MEANINGS.values() for name in section}
    if (wrong := known ^ {call.name for call in found}) != set():
        raise ValueError(f"MEANINGS and the source differ in {sorted(wrong)}")
    text = [HEAD]
    for section, events in MEANINGS.items():
        text += [f"## {section}", "", "| Event | Level | Fields | Meaning |", "|---|---|---|---|"]
        for name, meaning in events.items():
            mine = [call for call in found if call.name == name]
            levels = ", ".join(dict.fromkeys(call.level for call in mine))
            fields = ", ".join(f"`{field}`" for field in dict.fromkeys(field for call in mine for field in call.fields))
            text.append(f"| `{name}` | {levels} | {fields} | {meaning} |")
        text.append("")
    text.append(
        f"`action` is one of {ACTIONS}; `partition` is one of the input's. [What to do]({os.pardir}/how-to/operate.md)."
    )
    return "\n".join(text) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
