"""What becomes of a task of managed memory that does not end well."""

from __future__ import annotations

from commonplace.errors.access import PathEscape, TooManyRequests
from commonplace.errors.root import CommonplaceError
from commonplace.errors.state import NotFound


class QueueFull(TooManyRequests):
    """Too many tasks of this memory wait already: 16, of which 8 may be to forget or to dream. Poll one until it ends."""

    code = "remember_queue_full"


class RememberPathEscape(PathEscape):
    """The agent tried to write outside the folders of memory. All that it wrote was taken back."""

    code = "remember_path_escape"


class LaneError(CommonplaceError):
    """A task of managed memory came to no end."""

    code = "lane_error"


class RememberFailed(LaneError):
    """It could not be remembered. Try again, or look at the log of the daemon."""

    code = "remember_failed"


class ForgetFailed(LaneError):
    """It could not be forgotten. Try again, or look at the log of the daemon."""

    code = "forget_failed"


class DreamFailed(LaneError):
    """The memory could not be tidied. Try again, or look at the log of the daemon."""

    code = "dream_failed"


class DreamLost(DreamFailed):
    """The model left out something that was remembered. All that it did was taken back; rules tidied instead."""

    code = "dream_lost"


class DreamBudgetReached(DreamFailed):
    """The dream might have cost more than it may. Rules tidied instead; dream_budget_usd in [llm] says how much it may."""

    code = "dream_budget_reached"


class LaneTimeout(LaneError):
    """A task of managed memory took too long and was given up."""

    code = "lane_timeout"
    status = 504


class RememberTimeout(LaneTimeout):
    """It took too long to remember and was given up. Nothing was changed; try again, with less at a time."""

    code = "remember_timeout"


class ForgetTimeout(LaneTimeout):
    """It took too long to forget and was given up. Try again."""

    code = "forget_timeout"


class DreamTimeout(LaneTimeout):
    """It took too long to tidy the memory, which was given up. Try again."""

    code = "dream_timeout"


class RememberTaskNotFound(NotFound):
    """There is no such task, it was another client's, or it ended long ago."""

    code = "remember_task_not_found"


class ForgetTaskNotFound(NotFound):
    """There is no such task, it was another client's, or it ended long ago."""

    code = "forget_task_not_found"


class DreamTaskNotFound(NotFound):
    """There is no such task, it was another client's, or it ended long ago."""

    code = "dream_task_not_found"
