"""A file with columns as a stream of numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from driftway.producers.streams.cells import MissingWords
from driftway.producers.streams.columns import feature_columns, some_of
from driftway.producers.streams.labels import LabelReader
from driftway.producers.streams.stream import BLOCK_ROWS, Block, Stream, reblock
from driftway.producers.streams.tables.table import DEFAULT_LABEL, Table
from driftway.worker.errors import UsageFailure
from driftway.worker.wire.schema.paths import LABELS


class TableStream(Stream):
    """The rows of a file with columns: every column but the label is a feature.

    Parameters
    ----------
    table : Table
        The file.
    label : str or None
        The label's column; None: that of the file's format, else ``y``.
    labels : sequence of str or None
        Class names in index order, in place of those that the file declares.
    drop : sequence of str
        Columns to leave out.
    missing : MissingWords
        Words for a missing label.

    Raises
    ------
    UsageFailure
        There is no such label or column to leave out, no feature is left, or one cannot be read as numbers.
    """

    def __init__(
        self,
        table: Table,
        label: str | None,
        labels: Sequence[str] | None,
        drop: Sequence[str],
        missing: MissingWords,
    ) -> None:
        path = table.path
        self.notes = (*table.notes, *([table.about_label] if table.about_label and not label else ()))
        label = label or table.label or DEFAULT_LABEL
        if label not in table.columns:
            said = "".join(f"; {note}" for note in self.notes)
            likely = next((name for name in table.columns if name.lower() in LABELS), "")
            example = f", as --label {likely!r}" if likely else ""
            raise UsageFailure(
                f"{path} has no label column {label!r}; name it with --label{example}; columns: "
                f"{some_of(table.columns)}{said}"
            )
        self._table = table
        drop = [name for name in drop if name not in table.left_out]
        self.feature_names = feature_columns(path, table.columns, label, drop)
        table.check_numbers(self.feature_names)
        declared = table.classes.get(label)
        self.name = str(path)
        self.label_name = label
        self.labels = declared if labels is None else tuple(labels)
        self.rows = table.rows
        self.task = None if self.labels is None else "classification"
        self.source = f"file {path.name}"
        self._missing = missing.of(label, among_numbers=self.labels is None)

    def blocks(self, size: int = BLOCK_ROWS) -> Iterator[Block]:
        where = f"{self._table.path}: label column {self.label_name!r}"
        reader = LabelReader(where, self.labels, self._missing, self._table.decimal)
        return reblock(self._table.numbers(self.feature_names, self.label_name, reader), size)
