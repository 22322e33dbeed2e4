"""Settings of a worker: frozen, and validated before anything starts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from driftway.learners.spec import Spec
from driftway.worker.errors import UsageFailure
from driftway.worker.kafka.client_config import PYTHON
from driftway.worker.kafka.registry.event_format import EventFormat
from driftway.worker.kafka.registry.parser import FORMS as REGISTERED
from driftway.worker.kafka.topics import Topics, require_prefix
from driftway.worker.settings.identity import BEHIND
from driftway.worker.settings.option_values import (
    CHAMPION_ONLY,
    EVERY_MODEL,
    FORBIDDEN_PROPERTIES,
    MAX_COVERAGE,
    NO_COVERAGE,
    LabelWait,
    PromoteOption,
    SharingOption,
    check_headers,
    check_outputs,
)
from driftway.worker.warm_start import WarmStart
from driftway.worker.wire.codec import JSON, PACKED, short_digest
from driftway.worker.wire.events import REGRESSION, Schema, Target
from driftway.worker.wire.rejections import PLAIN, RejectionLimit
from driftway.worker.wire.schema.feature import REJECT, MissingPolicy
from driftway.worker.wire.schema.paths import HEADER
from driftway.worker.wire.schema.schema import EventSchema
from driftway.worker.wire.schema.unknown_fields import IGNORE, UNKNOWN_FIELDS

EXACTLY_ONCE, AT_LEAST_ONCE = "exactly-once", "at-least-once"
GUARANTEES = (EXACTLY_ONCE, AT_LEAST_ONCE)
FAIL, REPLAY, RESET = "fail", "replay", "reset"
RESTORE_FAILURE_POLICIES = (FAIL, REPLAY, RESET)
EARLIEST, LATEST = "earliest", "latest"
OFFSET_POLICIES = (FAIL, EARLIEST, LATEST)
NEWEST, FROM_OPTIONS = "newest", "from-options"
PLANS = (NEWEST, FROM_OPTIONS)

CONSUMER, CLASSIC = "consumer", "classic"
"""Group protocols."""

RELEARN_SHARE = 0.25
MAX_CLASSES = 1 << 16
"""Every prediction has a score for each class, and the metrics count each pair of them."""


@dataclass(frozen=True)
class ModelSettings:
    """What is learned: everything that determines the bits of the output.

    Parameters
    ----------
    specs : tuple of Spec
        The champion first, then its challengers.
    target : Target
        What is predicted, and the names of the classes.
    n_features : int or None
        d; None: a partition's first usable event fixes it.
    feature_names : tuple of str or None
        Names of the features, sorted, if they are fixed and the events name them.
    events : EventSchema or None
        How objects other than ``{"x": ..}`` are read; it fixes the features.
    missing : MissingPolicy
        How a feature that an event lacks is filled in, unless `events` says.
    indicators : bool
        Whether every feature has a column that says whether it was missing, unless `events` says.
    wait : LabelWait or None
        How long events wait for their labels; None: a label comes with its event or not at all.
    share : SharingOption or None
        How partitions share their learners' models; None: each learns alone.
    form, registry, registry_properties
        Format of the events, see `EventFormat`; the registry may be that of the predictions, too.
    output_form : str
        Format of the predictions. Not part of the state: a group may change it from one start to the next.
    output_schema : int
        Id of their schema in the registry; 0: it has none, or is not registered. Not part of the state either.
    standardize : bool
        Put the online standardiser in front of every learner that uses features.
    maps : tuple of Spec
        Feature maps in front of the standardiser, applied in this order.
    window : int
        Rows of the rolling window, >= 1.
    accuracy_every : int
        Rows between two accuracy points of a learner, >= 1.
    detectors : tuple of Spec
        Drift detectors that watch the champion's errors.
    coverage : float
        Share of the labels that prediction intervals or sets of classes are to cover, <= MAX_COVERAGE; NO_COVERAGE:
        predictions have none.
    max_rejected : RejectionLimit or None
        Rejections beyond which the worker stops; None: never. Not part of the state either.
    warm : WarmStart or None
        State in which the model `warm_model` starts; None: empty, as all others do.
    warm_model : int or None
        Number of that model: of the champion, until a plan changes the models. None: no plan has it any more.
    pass_headers : tuple of str
        Names of the headers copied from an event to its prediction; ALL alone: every one. Not part of the state either.
    cloudevents : str
        The source of predictions that are CloudEvents; empty: they are none. Not part of the state either.
    emit : str
        Whose predictions are written: CHAMPION_ONLY, or EVERY_MODEL. Not part of the state either.
    """

    specs: tuple[Spec, ...]
    target: Target = field(default_factory=Target)
    n_features: int | None = None
    feature_names: tuple[str, ...] | None = None
    events: EventSchema | None = None
    missing: MissingPolicy = field(default_factory=MissingPolicy)
    indicators: bool = False
    wait: LabelWait | None = None
    share: SharingOption | None = None
    form: str = JSON
    registry: str | None = None
    registry_properties: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    output_form: str = JSON
    output_schema: int = 0
    standardize: bool = True
    maps: tuple[Spec, ...] = ()
    window: int = 1000
    accuracy_every: int = 500
    detectors: tuple[Spec, ...] = ()
    coverage: float = NO_COVERAGE
    max_rejected: RejectionLimit | None = None
    warm: WarmStart | None = None
    warm_model: int | None = 0
    pass_headers: tuple[str, ...] = ()
    cloudevents: str = ""
    emit: str = CHAMPION_ONLY

    def __post_init__(self) -> None:
        if not self.specs:
            raise UsageFailure("name at least one --learner")
        if len(set(self.names)) < len(self.specs):
            raise UsageFailure("the same --learner is given twice")
        if len(set(self.detectors)) < len(self.detectors):
            raise UsageFailure("the same --detector is given twice")
        if self.event_format.uses_registry and self.events is None:
            raise UsageFailure(f"--format {self.form}: name the features with --feature")
        check_outputs(self.output_form, self.emit, self.target.n_classes)
        if self.target.n_classes > MAX_CLASSES:
            raise UsageFailure(f"classes must be <= {MAX_CLASSES:,}, got {self.target.n_classes}")
        if self.window < 1 or self.accuracy_every < 1:
            raise UsageFailure("window and accuracy-every must be >= 1")
        if not NO_COVERAGE <= self.coverage <= MAX_COVERAGE:
            raise UsageFailure(f"coverage must be > 0 and <= {MAX_COVERAGE}, or 0 for none, got {self.coverage:g}")
        if self.n_features is not None and self.n_features < 1:
            raise UsageFailure("features must be >= 1")
        if self.events is not None and self.form == PACKED:
            raise UsageFailure("packed events have no fields: leave --feature out")
        if self.wait is not None and self.form == PACKED:
            raise UsageFailure("packed events have no ids to match delayed labels: leave --label-wait out")
        if self.indicators and self.missing.word == REJECT:
            raise UsageFailure("--missing-indicators: say with --missing what replaces a missing value")
        if self.target.task == REGRESSION and self.target.labels:
            raise UsageFailure("labels belong to classification")
        check_headers(self.pass_headers, self.cloudevents)
        if self.warm is not None and self.warm.schema is not None:
            file, n = self.warm.name, self.warm.schema.n_features
            if self.n_features not in (None, n):
                raise UsageFailure(f"--features {self.n_features} contradicts model file {file}, which takes {n}")

    @property
    def shape(self) -> Schema | None:
        """The schema of the events, if it is known before the first one."""
        if self.events is not None:
            return self.events.shape
        return None if self.n_features is None else Schema(self.n_features, self.feature_names)

    @property
    def event_format(self) -> EventFormat:
        """The format of the events."""
        return EventFormat(self.form, self.registry if self.form in REGISTERED else None, self.registry_properties)

    def loads(self) -> Callable[[bytes], Any] | None:
        """As `EventFormat.loads`."""
        return self.event_format.loads()

    @property
    def width(self) -> int | None:
        """Number of columns that the feature maps, or else the learners, get; None if the first event decides."""
        if self.events is not None:
            return len(self.events.columns) + len(self.events.indicator_names)
        return None if self.n_features is None else self.n_features * (2 if self.indicators else 1)

    def filling(self, schema: Schema) -> tuple[tuple[MissingPolicy, ...], Sequence[int]] | None:
        """Missing-value policy of each column, and the columns with an indicator; None: no value may be missing."""
        watched: Sequence[int]
        if self.events is not None:
            policies, watched = self.events.policies, self.events.watched
        elif self.missing.word == REJECT:
            return None
        else:
            policies = (self.missing,) * schema.n_features
            watched = range(schema.n_features if self.indicators else 0)
        return None if all(one.word == REJECT for one in policies) else (policies, watched)

    @property
    def reads_headers(self) -> bool:
        """Whether the headers of events are used, and so must be requested from the client."""
        sources = () if self.events is None else self.events.sources
        return bool(self.pass_headers) or any(path.source == HEADER for path in sources)

    @property
    def frozen(self) -> bool:
        """Whether the model that began with a file only predicts."""
        return self.warm is not None and self.warm.frozen

    @property
    def only_predicts(self) -> int | None:
        """Number of the model that only predicts; None: all learn."""
        return self.warm_model if self.frozen else None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the learners in outputs: their specs, with `warm:` or `frozen:` for the one from a file."""
        names = [spec.text for spec in self.specs]
        if self.warm is not None and self.warm_model is not None:
            names[self.warm_model] = self.warm.display_name(names[self.warm_model])
        return tuple(names)

    def identity(self) -> dict[str, Any]:
        """Everything here that a stored state must match before it may be loaded."""
        return {
            "learners": [spec.text + self.maps_suffix for spec in self.specs],
            "standardize": self.standardize,
            "task": self.target.task,
            "n_classes": self.target.n_classes,
            "labels": list(self.target.labels),
            "window": self.window,
            "accuracy_every": self.accuracy_every,
            # Keys only for options that are set, so that snapshots from before warm starts stay valid.
            **({} if self.warm is None else {"warm": self.warm.digest}),
            **({"frozen": True} if self.frozen else {}),
            **({"detectors": [spec.text for spec in self.detectors]} if self.detectors else {}),
            **({"coverage": self.coverage} if self.coverage else {}),
            **({"event": self.events.as_dict()} if self.events is not None else {}),
            **({"label_wait": str(self.wait)} if self.wait is not None else {}),
            **({"share": str(self.share)} if self.share is not None else {}),
            **({"missing": str(self.missing)} if self.missing.word != REJECT else {}),
            **({"missing_indicators": True} if self.indicators else {}),
        }

    def digests(self, states: Sequence[Mapping[str, Any]]) -> list[str]:
        """Digest of each learner's identity: learners with equal digests learn the same from the same rows.

        `states` are their own identities, see `Learner.identity`.
        """
        full = self.identity()
        keys = "standardize", "task", "n_classes", "labels", "window"
        late = "event", "missing", "missing_indicators", "label_wait", "share"
        common = {key: full[key] for key in (*keys, *late) if key in full}
        pairs = zip(full["learners"], states, strict=bool(states))
        identities = [{**common, "learner": name, "state": state} for name, state in pairs]
        if identities and self.warm_model is not None:
            identities[self.warm_model] |= {key: full[key] for key in ("warm", "frozen") if key in full}
        return [short_digest(one) for one in identities]

    @property
    def usage_example(self) -> str:
        """Description of a valid event."""
        if self.form == PACKED:
            return "packed events: version, bytes per feature, label, features"
        if self.events is not None:
            return f"a JSON object with {', '.join(str(feature.path) for feature in self.events.features[:5])}"
        return f'{{"x": [number, ..] or {{"name": number, ..}}, "y": {self.target.expected()} or null}}'

    @property
    def maps_suffix(self) -> str:
        """Suffix of a learner's name in identities that lists the feature maps; empty if there are none."""
        return BEHIND + ", ".join(spec.text for spec in self.maps) if self.maps else ""


@dataclass(frozen=True)
class WorkerSettings:
    """A worker's whole configuration.

    Parameters
    ----------
    bootstrap, input, group : str
        Broker address, input topic and consumer group.
    model : ModelSettings
        What is learned.
    guarantee : str
        ``exactly-once``, or ``at-least-once`` for brokers without transactions.
    commit_interval : float
        Seconds between commits, > 0; the latency for read_committed readers. While a backlog is read it may be 1 s.
    snapshot_interval : float
        Seconds between snapshots, > 0.
    snapshot_rows : int
        Rows, >= 1, after which a snapshot is due early, as it is after 0.25 s of learning; limits what is replayed.
    start : str or int
        Where a group without committed offsets starts: ``earliest``, ``latest``, or at that offset of each partition.
    on_restore_failure, on_offset_out_of_range : str
        Policies: ``fail`` by default.
    stop_at_end : bool
        Exit 0 once every assigned partition has been read to its end.
    unavailable_timeout : float
        Seconds in which nothing of a partition succeeds before the worker ends, > 0.
    transactional_id_prefix : str
        Prefix of transactional ids, where a cluster's rules require one.
    passthrough : dict
        Further client properties.
    client : str
        ``python`` or ``native``, see `driftway.worker.kafka.client_factory`.
    outputs, label_topic : str
        Prefix of output topics, by default ``INPUT.GROUP``; topic of labels, empty: labels are in the input.
    rejected_headers : str
        Which headers rejections have, one of REJECTED_HEADERS.
    unknown_fields : str
        What to do about fields that are not used: ``ignore``, or ``count``.
    relearn_share : float
        Share of a processor that relearned challengers take, 0 < share <= 1.
    plan : str
        What counts where the options name other models than the group's plan: ``newest``, or ``from-options``.
    promote : PromoteOption or None
        When the worker promotes a challenger; None: never.
    """

    bootstrap: str
    input: str
    group: str
    model: ModelSettings
    guarantee: str = EXACTLY_ONCE
    commit_interval: float = 0.1
    snapshot_interval: float = 5.0
    snapshot_rows: int = 50_000
    start: str | int = EARLIEST
    on_restore_failure: str = FAIL
    on_offset_out_of_range: str = FAIL
    stop_at_end: bool = False
    unavailable_timeout: float = 300.0
    transactional_id_prefix: str = ""
    passthrough: dict[str, Any] = field(default_factory=dict)
    outputs: str = ""
    label_topic: str = ""
    client: str = PYTHON
    rejected_headers: str = PLAIN
    unknown_fields: str = IGNORE
    relearn_share: float = RELEARN_SHARE
    plan: str = NEWEST
    promote: PromoteOption | None = None

    def __post_init__(self) -> None:
        for name, text in (("input", self.input), ("group", self.group)):
            if not text.strip():
                raise UsageFailure(f"{name} is empty: it needs a name")
        self._require_labels()
        if self.model.share is not None and self.guarantee != EXACTLY_ONCE:
            raise UsageFailure("--share-models needs --guarantee exactly-once: updates are committed with the rows")
        if not (self.commit_interval > 0 and self.snapshot_interval > 0 and self.snapshot_rows >= 1):
            raise UsageFailure("commit-interval, snapshot-interval and snapshot-rows must be > 0")
        if not 0 < self.relearn_share <= 1:
            raise UsageFailure("relearn-cpu-share must be > 0 and <= 1")
        if not self.unavailable_timeout > 0:
            raise UsageFailure("unavailable-timeout must be > 0")
        if self.unknown_fields not in UNKNOWN_FIELDS:
            raise UsageFailure(f"unknown-fields must be one of {', '.join(UNKNOWN_FIELDS)}")
        if self.unknown_fields != IGNORE and self.model.form == PACKED:
            raise UsageFailure("packed events have no fields: leave --unknown-fields out")
        if self.promote is not None and self.guarantee != EXACTLY_ONCE:
            raise UsageFailure("--promote needs --guarantee exactly-once: a plan is adopted in a transaction")
        require_prefix(self.outputs, self.input, self.group)
        for key, why in FORBIDDEN_PROPERTIES.items():
            if key in self.passthrough:
                raise UsageFailure(f"client property {key} cannot be set for a worker: {why}")

    @property
    def topics(self) -> Topics:
        """Names of the topics."""
        watched, shared = bool(self.model.detectors), self.model.share is not None
        every = self.model.emit == EVERY_MODEL
        return Topics(self.input, self.group, self.outputs, watched, self.label_topic, shared, every)

    def _require_labels(self) -> None:
        """Check that labels can be read from their topic."""
        if not self.label_topic:
            return
        if self.label_topic in (self.input, *self.topics.outputs()):
            raise UsageFailure(f"--label-topic {self.label_topic}: it must not be the input or one of the outputs")
        if self.model.wait is None:
            raise UsageFailure("--label-topic: say with --label-wait how long an event waits for its label")
        if self.guarantee != EXACTLY_ONCE:
            raise UsageFailure("--label-topic needs --guarantee exactly-once: the order of both topics is committed")

    def transactional_id(self, suffix: int | str) -> str:
        """The transactional id of a partition, the same for every owner; unique, since topic names have no slash."""
        return f"{self.transactional_id_prefix}{self.group}/{self.input}/{suffix}"

    @property
    def protocol(self) -> str:
        """The group protocol: as configured (the client takes any case), else the classic one (docs/decisions/0019)."""
        return str(self.passthrough.get("group.protocol", CLASSIC)).lower()
