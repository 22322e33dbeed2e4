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
        "starting": "the first line. `settings` has every option in force, without secrets",
        "renamed option": "an option was given by a former name; `note` says the new one",
        "python client": "the native client cannot be used; `note` says why",
        "warm start": "the model file that the champion begins with",
        "listening": "the port of `--http-port` is open",
        "schema of predictions": "the schema that predictions have in the registry",
        "created topic": "a missing output topic was created",
        "added partitions": "partitions were added to outputs, so that they have as many as the input",
        "compacted input": "the input is compacted: its log cannot be relearned or audited",
        "topic settings": "a setting of a topic that may lose data, and the better one",
        "compiling kernels": "with `about_seconds`: kernels are not in the cache yet; with `done`: how far it is",
        "kernels are compiled": "how many had to be compiled; 0: all came from the cache",
        "spans": "spans of batches and commits are sent to this endpoint",
        "no spans": "an endpoint for spans is set, and `error` says why none are sent",
    },
    "Group and partitions": {
        "subscribed": "the worker has asked to join the group",
        "not admitted to the group, trying again": "another member has the same name, or the group forgot this one",
        "assigned": "the group has given these partitions to this worker",
        "revoked": "the group takes these partitions away; they are committed first",
        "lost": "these partitions went to others before they could be committed; the others repeat what is missing",
        "the group left partitions unassigned, triggering a rebalance": "partitions of the input had no member",
        "restored": "a partition's state is back; `note` says what was unusual, such as an older snapshot",
        "running": "the partition is predicted from `position` on",
        "left": "the worker has left the group; the last line of an orderly shutdown",
    },
    "Work": {
        "working": "every minute: what has been done since the last such line",
        "summary": "at the end: what was done in total",
        "rejected": "the first event of its kind that cannot be used; `at` is its place in the input",
        "label set aside": "the first label of its kind that cannot be used; its event is predicted",
        "more rejected": "how many events and labels of each kind came after those",
        "nothing usable so far": "every event up to now was rejected: topic or options are wrong",
        "nothing usable": "at the end: every event was rejected",
        "unknown field": "the first event that has a field which is not read, with `--unknown-fields count`",
        "drift": "a detector has reported a drift; `besides` counts others within the same second",
        "timestamps ahead or behind": "records whose timestamps those around them contradict",
        "rows wait behind an open transaction of another producer": "a producer has not ended its transaction",
    },
    "Models": {
        "the options are the next plan": "with `--plan from-options`: they replace the group's plan",
        "newest plan": "at the start: the group's plan of models",
        "new plan": "somebody has changed the group's models; the worker is ready to take the plan",
        "plan taken": "from `offset` on, a partition has the models of this plan",
        "plan passed over": "the plan cannot be used; `error` says why, the models stay as they are",
        "plan reader error": "the topic of plans cannot be read at the moment",
        "relearning": "a challenger learns the log of a partition again, beside the loop",
        "relearned": "it has caught up with the partition",
        "relearning interrupted": "the log cannot be read at the moment; relearning continues later",
        "relearning failed": "it cannot go on; the plan is passed over",
        "challengers are watched": "with `--promote`: the level that the test of each challenger must reach",
        "promoted": "with `--promote`: a challenger is the champion of the next plan",
        "promotion error": "accuracy points cannot be read at the moment",
    },
    "Failures": {
        "commit failed": "a commit did not succeed; `action` says what the worker does about it",
        "last commit failed": "the last commit of a partition that left; its next owner starts at the one before",
        "restore failed": "a restore did not succeed; it is tried again unless `action` is `fatal`",
        "unexpected offset": "a record has another offset than the one requested; the partition is restored",
        "input lost": "the log no longer has the offsets that come next",
        "seek refused": "the client could not seek to an offset; it is tried again",
        "unreadable batch": "a batch of the input cannot be decompressed or parsed",
        "consumer error": "an error of the group member's client",
        "label reader error": "the label topic cannot be read at the moment",
        "share reader error": "the topic of shares cannot be read at the moment",
        "client error": "a Kafka client reports an error; it recovers from most by itself",
        "throttled": "a broker slows this client down, because of a quota",
        "the cluster does not answer, asking again": "no broker answers, or a log has no leader",
        "the cluster answers again": "after an outage of so many seconds",
        "the loop is stuck": "the poll loop has not turned for so long; `stacks` says where each thread is",
        "the loop is stuck, stacks of all threads follow": "the same, in the text format",
        "log was interrupted": "lines could not be written, for example because the disk was full; so many are missing",
        "spans may be lost": "at most once a minute: the collector cannot be reached, refuses, or is too slow",
        "no more spans": "making a span has failed; the worker continues without spans",
        "uncaught exception": "a fault of Driftway or a library, with its `traceback`; please report it",
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
