"""What a slot held before, from version control: gathered from git, judged step by step, said elsewhere in words."""

from .gathering import Gathered, gather
from .judging import Cause, FlipCause, Judged, Move, Standing, judged
from .repository import Repository

__all__ = ["Cause", "FlipCause", "Gathered", "Judged", "Move", "Repository", "Standing", "gather", "judged"]
