"""Rows of a file with columns as JSON objects."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

from driftway.producers.streams.columns import kept_columns
from driftway.producers.streams.event_files.event_file import EventFile
from driftway.producers.streams.labels import LabelReader
from driftway.producers.streams.tables.table import Table
from driftway.worker.errors import UsageFailure
from driftway.worker.wire.codec import write_rows
from driftway.worker.wire.json_tokens.text_values import as_written

USUAL_FIELDS = "y", "id", "t"
"""What a schema reads that names no label, id or time: a file need not have them."""


class TableRows(EventFile):
    """The rows of a file with columns, each as an object of its fields.

    A label is written as the class that it names: ``TRUE`` as ``true`` if that is what the class is called.

    Parameters
    ----------
    table : Table
        The file.
    label : str or None
        The label's field.
    labels : sequence of str or None
        Class names in index order; None: labels are written as they are.
    drop : sequence of str
        Fields to leave out.
    only : collection of str or None
        Read no other fields than these; None: all.

    Raises
    ------
    UsageFailure
        There is no field to leave out, or none is left.
    """

    def __init__(
        self,
        table: Table,
        label: str | None,
        labels: Sequence[str] | None,
        drop: Sequence[str],
        only: Collection[str] | None = None,
    ) -> None:
        self._table = table
        self.name, self.rows, self.notes = str(table.path), table.rows, tuple(table.notes)
        self.columns = kept_columns(table.path, table.fields, [name for name in drop if name not in table.left_out])
        if only is not None:
            unknown = sorted(set(only).difference(table.fields, table.left_out, USUAL_FIELDS))
            self.notes += tuple(f"it has no column {name!r}, so it is missing in every row" for name in unknown)
            kept = tuple(name for name in self.columns if name in only)
            self.columns = kept or self.columns[:1]  # one at least, so that there are rows
        self._label_at = self.columns.index(label) if labels is not None and label in self.columns else None
        self._rename = _renamed(labels or (), table.decimal)

    def chunks(self) -> Iterator[list[bytes]]:
        names = self.columns or ()
        for columns in self._table.values(names):
            if self._label_at is not None:
                columns[self._label_at] = [self._rename(value) for value in columns[self._label_at]]
            yield write_rows(names, columns)


def _renamed(labels: Sequence[str], decimal: str) -> Callable[[Any], Any]:
    """A function value -> the class that it names, as on the wire; a value that names none is returned unchanged."""
    reader, known = LabelReader("", labels, (), decimal), dict[Any, Any]()
    names = [as_written(label) for label in labels]

    def rename(value: Any) -> Any:
        if value is None or isinstance(value, list | dict):
            return value
        key = type(value), value
        if key not in known:
            try:
                found = reader.class_of(_text_of(value, decimal))
            except UsageFailure:
                found = None
            known[key] = value if found is None else names[found]
        return known[key]

    return rename


def _text_of(value: Any, decimal: str) -> str:
    """A value as the text of a cell."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else str(value).replace(".", decimal)
