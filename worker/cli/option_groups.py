"""Groups of options in the help of commands that have many, the main ones first."""

from __future__ import annotations

import click

GROUPS = {
    "Main options": (
        "--input", "--group", "--bootstrap", "--feature", "--label", "--labels", "--label-wait", "--task", "--learner",
        "--http-port",
    ),
    "Events": (
        "--features", "--format", "--id", "--time", "--envelope", "--registry", "--registry-property", "--missing",
        "--missing-indicators", "--unknown-fields", "--max-rejected",
    ),
    "Labels": ("--classes", "--label-topic"),
    "Model": (
        "--standardize", "--map", "--detector", "--warm-start", "--frozen", "--share-models", "--plan", "--promote",
        "--relearn-cpu-share",
    ),
    "Files and generators": (
        "--skip", "--limit", "--drop", "--missing-values", "--columns", "--separator", "--decimal", "--encoding",
        "--width", "--data-dir", "--seed", "--inject", "--named",
    ),
    "Outputs": (
        "--output-prefix", "--output-format", "--pass-headers", "--cloudevents-source", "--rejected-headers", "--emit",
        "--coverage", "--accuracy-every", "--metric-window",
    ),
    "Results": ("--scores", "--json", "--csv", "--parquet", "--curves", "--curve-metric", "--points", "--regret"),
    "Kafka": (
        "-X", "--client-properties", "--client", "--guarantee", "--commit-interval", "--transactional-id-prefix",
    ),
    "Operations": (
        "--start", "--stop-at-end", "--snapshot-interval", "--snapshot-rows", "--on-restore-failure",
        "--on-offset-out-of-range", "--unavailable-timeout", "--http-host", "--serve-predictions", "--serve-token-file",
        "--log-format", "--help",
    ),
}  # fmt: skip
"""Title -> options in order of help, of all commands whose help has groups. Others stand in front, as `Options`."""
OWN = "Options"


def grouped(command: click.Command, context: click.Context) -> dict[str, list[click.Option]]:
    """Return a command's options by the title of their group, in order of help."""
    options = {long_name(one): one for one in command.get_params(context) if isinstance(one, click.Option)}
    named = {name for names in GROUPS.values() for name in names}
    groups = {OWN: [one for name, one in options.items() if name not in named]}
    groups |= {title: [options[name] for name in names if name in options] for title, names in GROUPS.items()}
    return {title: some for title, some in groups.items() if some}


def long_name(option: click.Option) -> str:
    """Return the longest of an option's names."""
    return max(option.opts, key=len)


class GroupedCommand(click.Command):
    """A command whose help shows its options in groups."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, options in grouped(self, ctx).items():
            records = [one.get_help_record(ctx) for one in options]
            with formatter.section(title):
                formatter.write_dl([one for one in records if one is not None])
