"""The question that follows an unknown name in an error."""

from collections.abc import Callable, Iterable


def did_you_mean(
    name: str, known: Iterable[str], otherwise: str, limit: int = 1, write: Callable[[str], str] = repr
) -> str:
    """Ask whether a similar one of the known names is meant, at most so many; return `otherwise` if none is similar.

    `write` turns a name into what is shown of it.
    """
    from difflib import get_close_matches  # not loaded at a start in which every name is known

    near = get_close_matches(name, list(known), n=limit)
    return f"did you mean {' or '.join(map(write, near))}?" if near else otherwise
