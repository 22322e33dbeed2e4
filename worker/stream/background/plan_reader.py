"""Read the group's plans in the background and prepare their models, so that no message waits for the compiler."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing, suppress

from confluent_kafka import Consumer, KafkaException

from driftway.worker.errors import Failure
from driftway.worker.kafka.deadline import Deadline
from driftway.worker.kafka.error_handling import TaskError, message_of, translated_errors
from driftway.worker.kafka.log_reader.reader import ASK_SECONDS, COMMITTED, MessageReader, open_reader
from driftway.worker.settings import FROM_OPTIONS, WorkerSettings
from driftway.worker.state.plans.alarm_topic import require_alarm_topic, require_alarms_writable
from driftway.worker.state.plans.configuration import Configuration
from driftway.worker.state.plans.file_state import StateChunks
from driftway.worker.state.plans.model_plan import FIRST, ModelPlan
from driftway.worker.state.plans.plan_topic import PARTITION, parse_plan, read_plans, topic_exists
from driftway.worker.state.plans.transition import why_not
from driftway.worker.stream.background.options_plan import write_options
from driftway.worker.stream.background.thread import BackgroundThread
from driftway.worker.stream.observability.event_log import EventLog
from driftway.worker.stream.relearning.from_log import why_not_relearned
from driftway.worker.stream.warm_up import KernelPreparation, prepare_kernels

LOOK_SECONDS = 1.0
"""Time between two questions whether the group has a topic of plans; once there is one, plans arrive at once."""
RETRY_SECONDS = 5.0
POLL_SECONDS = 0.2
FETCH_MS = 500
"""How long the broker holds a fetch at the log's end: nearly always there is nothing new."""


class PlanReader(BackgroundThread):
    """Reads the plans of a group, in the order of their numbers.

    Parameters
    ----------
    settings : WorkerSettings
        The worker's.
    event_log : EventLog
        Where plans are logged, and why one is passed over.
    """

    def __init__(self, settings: WorkerSettings, event_log: EventLog) -> None:
        super().__init__("plans")
        self._settings, self._event_log = settings, event_log
        self.ready: list[ModelPlan] = []
        """The plans whose models are prepared; tasks take them from here."""
        self._next_offset, self._newest = 0, 0
        """The next record to read, and the largest number read."""
        self._chunks = StateChunks()

    def prepare(self, has_plans: bool, cancelled: Callable[[], bool], kernels: KernelPreparation | None = None) -> int:
        """Compile what predictions need, before the worker joins; return how many kernels were compiled.

        Parameters
        ----------
        has_plans : bool
            Whether the group has a topic of plans: then the models are those of the newest one that is possible.
        cancelled : callable
            As `prepare_kernels` takes it.
        kernels : KernelPreparation or None
            That of the options' models, if it has begun.

        Raises
        ------
        Failure, UnknownLearner
            A learner of the options, or one of its parameters, is not valid.
        Failure, Unreachable
            The plans cannot be read.
        """
        if (
            self._settings.plan == FROM_OPTIONS
            and (written := write_options(self._settings, self._log_error)) is not None
        ):
            self._event_log.event("the options are the next plan", plan=written.number, learners=written.names)
            has_plans = True
        if has_plans:
            self._read_present()
        compiled = 0
        if self.ready and self.ready[-1].number > FIRST:
            newest = self.ready[-1]
            as_options = self._is_as_options(newest)
            self._log_newest(newest, as_options)
            if kernels is not None:
                # Those of the options' models are not awaited if the plan has others.
                compiled, kernels = kernels.finish(cancelled if as_options else lambda: True), None
            if (more := self._compiled(newest, cancelled)) is not None:
                return compiled + more
        if kernels is None:
            kernels = KernelPreparation(self._settings.model, self._settings.client, self._event_log)
        return compiled + kernels.finish(cancelled)

    def _is_as_options(self, plan: ModelPlan) -> bool:
        """Whether a plan has the models and the configuration that the worker's options ask for."""
        given, planned = self._settings.model, plan.applied_to(self._settings.model)
        configuration = Configuration.of(planned)
        return planned.names == given.names and configuration == Configuration.of(given).over(configuration)

    def _log_newest(self, plan: ModelPlan, as_options: bool) -> None:
        """Log the plan with which the worker starts."""
        facts = {"learners": plan.applied_to(self._settings.model).names, **plan.configuration.as_dict()}
        note = "the options differ from the plan; the plan applies, unless --plan from-options is given"
        self._event_log.event("newest plan", plan=plan.number, **facts, **({} if as_options else {"note": note}))

    def _read_present(self) -> None:
        with translated_errors(self._settings), closing(open_reader(self._settings)) as reader:
            plans = read_plans(reader, self._settings, Deadline(ASK_SECONDS), self._log_error)
        for plan in plans:
            if self._is_possible(plan):
                try:
                    self._require_topics(plan)
                except Failure as error:  # the thread tries again; until then tasks have the plan before
                    self._log_error(str(error))
                    return
                self.ready.append(plan)
            self._newest = plan.number

    @property
    def newest(self) -> int:
        """Number of the newest plan that was read, possible or not; 0: none was."""
        return self._newest

    def _run(self) -> None:
        while not self._over.is_set():
            try:
                with closing(open_reader(self._settings, COMMITTED, {"fetch.wait.max.ms": FETCH_MS})) as reader:
                    self._await_topic(reader)
                    self._follow(reader)
            except (KafkaException, TaskError, Failure) as error:
                self._log_error(message_of(error))
                self._next_offset = 0  # the topic may have been deleted and made again
                self._over.wait(RETRY_SECONDS)

    def _await_topic(self, reader: Consumer) -> None:
        """Return once the group has a topic of plans, or the worker ends."""
        while not self._over.is_set():
            with suppress(KafkaException, TaskError):  # an outage, which others tell
                if topic_exists(reader, self._settings, Deadline(ASK_SECONDS)):
                    return
            self._over.wait(LOOK_SECONDS)

    def _follow(self, reader: Consumer) -> None:
        """Take each plan as it is written, until the worker ends."""
        topic_partition = self._settings.topics.models, PARTITION
        reading = MessageReader(reader, {topic_partition: self._next_offset})
        while not self._over.is_set():
            for message in reading.poll(POLL_SECONDS):
                offset = message.offset() or 0
                self._next_offset = offset + 1
                if self._chunks.take(message.key(), message.value()):
                    continue
                plan = parse_plan(message.value(), f"{topic_partition[0]}/{PARTITION}@{offset}", self._log_error)
                plan = None if plan is None else plan.with_states(self._chunks.of)
                if plan is not None and plan.number > self._newest:
                    self._require_topics(plan)
                    self._newest = plan.number
                    if self._is_possible(plan):
                        self._prepare(plan)

    def _prepare(self, plan: ModelPlan) -> None:
        """Compile what the plan's models need, and hand it to the tasks."""
        if plan.number > FIRST:
            compiled = self._compiled(plan, self._over.is_set)
            if compiled is None:
                return
            models = {
                "learners": plan.names,
                **plan.configuration.as_dict(),
                "compiled": compiled,
                "change": plan.change,
            }
            self._event_log.event("new plan", plan=plan.number, **models)
        self.ready.append(plan)

    def _compiled(self, plan: ModelPlan, cancelled: Callable[[], bool]) -> int | None:
        """Compile what a plan's models need; return how many kernels that were, None if the models cannot be made."""
        settings = plan.applied_to(self._settings.model)
        try:
            return prepare_kernels(settings, self._settings.client, self._event_log, cancelled)
        except (Failure, ValueError, MemoryError) as error:
            self._event_log.warning("plan passed over", plan=plan.number, error=str(error))
            return None

    def _is_possible(self, plan: ModelPlan) -> bool:
        """Whether the plan's models can be made at all; if not, the log says why, and it is passed over."""
        settings = self._settings
        why = why_not(plan, settings.model) or why_not_relearned(plan, settings.model)
        if why is not None:
            self._event_log.warning("plan passed over", plan=plan.number, error=why)
        return why is None

    def _require_topics(self, plan: ModelPlan) -> None:
        """Create the topic of alarms before any task adopts a plan that has detectors.

        Raises
        ------
        Failure, Unreachable
            The broker refuses, or does not answer, or alarms could not be written.
        """
        if not plan.configuration.detectors:
            return
        if require_alarm_topic(self._settings):
            self._event_log.event("created topic", topic=self._settings.topics.alarms)
        require_alarms_writable(self._settings)

    def _log_error(self, sentence: str) -> None:
        """Log an error, unless it is the last one again."""
        if self._is_news(sentence):
            self._event_log.warning("plan reader error", error=sentence)
