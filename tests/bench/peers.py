"""How another program that does the worker's work is told what to do: by its environment."""

from __future__ import annotations

from pathlib import Path


def peer_environment(
    bootstrap: str, topics: tuple[str, str], group: str, state: Path, commit_seconds: float, replicas: int
) -> dict[str, str]:
    """Return the variables of one process, which works exactly once; `topics` are its input and its output."""
    source, output = topics
    return {
        "BOOTSTRAP": bootstrap, "IN_TOPIC": source, "OUT_TOPIC": output, "GROUP": group, "STATE_DIR": str(state),
        "TXN": "1", "COMMIT_MS": f"{1000 * commit_seconds:.0f}", "RF": str(replicas),
    }  # fmt: skip
