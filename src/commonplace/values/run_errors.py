"""Why something could not be done with a run, a task of it, or an artifact. The codes of tasks are Tandem's."""

from __future__ import annotations

from commonplace.errors import Conflict, InvalidInput, NotFound


class RunNotFound(NotFound):
    """There is no such run, or it is somebody else's. List yours with `GET /v1/runs`."""

    code = "run_not_found"


class RunsUnavailable(Conflict):
    """The run lies in the home folder of another daemon. Ask that one, or let the daemons share their home folder."""

    code = "runs_unavailable"


class RunDamaged(Conflict):
    """The journal of the run cannot be read: somebody else changed its files. Restore `events.jsonl` from a copy."""

    code = "run_damaged"


class RunBusy(Conflict):
    """Another process has been writing to this run for too long. Try again."""

    code = "run_busy"


class TaskNotFound(NotFound):
    """The run has no such task. List its tasks."""

    code = "task_not_found"


class TaskRevisionMismatch(Conflict):
    """The task was changed since. Read it again, then decide."""

    code = "TASK_REV_MISMATCH"


class TaskLeaseRequired(Conflict):
    """Somebody holds this task: send the lease token that its claim was answered with."""

    code = "TASK_LEASE_REQUIRED"


class TaskLeaseInvalid(Conflict):
    """The lease is another's, or has expired. Claim the task again."""

    code = "TASK_LEASE_INVALID"


class TaskTransitionInvalid(Conflict):
    """The task cannot go from its status to that one."""

    code = "TASK_TRANSITION_INVALID"


class TaskEventRefused(InvalidInput):
    """Events of tasks are made by the operations for tasks. Use those."""

    code = "TASK_EVENT_APPEND_DISABLED"


class TaskPatchRefused(InvalidInput):
    """Tasks are changed by the operations for tasks. Use those."""

    code = "TASK_PATCH_OP_DISABLED"


class ArtifactNotFound(NotFound):
    """There is no such artifact, or it is somebody else's. List yours with `GET /v1/artifacts`."""

    code = "artifact_not_found"


class ArtifactTooLarge(InvalidInput):
    """The file is larger than an artifact may be. Make it smaller, or raise `max_artifact_mb`."""

    code = "artifact_too_large"
    status = 413


class ArtifactNotText(InvalidInput):
    """Only a text becomes a memory, and this artifact is none in UTF-8. Keep what is worth remembering in words."""

    code = "artifact_not_text"
