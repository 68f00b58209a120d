"""A prediction beside what was observed, line by line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Line = tuple[Any | None, Any | None]


def align(prediction: Sequence[Any], observed: Sequence[Any]) -> tuple[Line, ...]:
    """Pairs predicted with observed steps in order; what only one side has stands alone.

    A step is a role, a pair that begins with one, or anything with a `role`; it is returned as it
    was given. The pairing keeps as many equal roles as an ordered pairing can (longest common
    subsequence), and where several do, the earliest observed ones.

    >>> align(["matmul", "scale"], ["memset", "matmul"])
    ((None, 'memset'), ('matmul', 'matmul'), ('scale', None))
    """
    left, right = [_role(step) for step in prediction], [_role(step) for step in observed]
    best = _common(left, right)
    lines: list[Line] = []
    i = j = 0
    while i < len(left) and j < len(right):
        if left[i] == right[j] and best[i][j] == best[i + 1][j + 1] + 1:
            lines.append((prediction[i], observed[j]))
            i, j = i + 1, j + 1
        elif best[i][j + 1] == best[i][j]:
            lines.append((None, observed[j]))
            j += 1
        else:
            lines.append((prediction[i], None))
            i += 1
    lines += [(step, None) for step in prediction[i:]]
    lines += [(None, step) for step in observed[j:]]
    return tuple(lines)


def broken(prediction: Sequence[Any], observed: Sequence[Any]) -> tuple[Line, ...]:
    """The lines in which prediction and observation differ."""
    return tuple(line for line in align(prediction, observed) if None in line)


def _role(step: Any) -> str:
    if isinstance(step, str):
        return step
    return str(step[0] if isinstance(step, tuple) else step.role)


def _common(left: Sequence[str], right: Sequence[str]) -> list[list[int]]:
    """Lengths of the longest common subsequences of the tails."""
    table = [[0] * (len(right) + 1) for _ in range(len(left) + 1)]
    for i in range(len(left) - 1, -1, -1):
        for j in range(len(right) - 1, -1, -1):
            table[i][j] = table[i + 1][j + 1] + 1 if left[i] == right[j] else max(table[i + 1][j], table[i][j + 1])
    return table
