"""Errors that only an agent's work has: the files that it curates, and the folders that it works in."""

from __future__ import annotations

from commonplace.errors import CommonplaceError, Conflict, Forbidden, InvalidInput, TimedOut


class CuratedMemoryFull(Conflict):
    """There is no room for it. Remove or shorten entries, then try again."""

    code = "curated_memory_full"


class CuratedEntryAmbiguous(Conflict):
    """Several entries hold that text. Quote more of the one you mean."""

    code = "curated_entry_ambiguous"


class CuratedEntryNotFound(InvalidInput):
    """No entry holds that text. Quote a part of the entry as it is."""

    code = "curated_entry_not_found"
    status = 404


class CuratedEntryRefused(InvalidInput):
    """The entry looks like an attack on whoever reads it. Say it as a plain fact."""

    code = "curated_entry_refused"
    status = 422


class TurnCutOff(Conflict):
    """The daemon was restarted in the middle of this turn. What was said is kept: say it again, or ask the agent to go on."""

    code = "turn_cut_off"


class FolderForbidden(Forbidden):
    """An agent may not work in this folder. Leave the folder out, or name one below the folders that the operator opened (agent_roots)."""

    code = "folder_forbidden"


class HostedAgentFailed(CommonplaceError):
    """The agent's program ended or gave no usable answer. Say it again: the program is started anew."""

    code = "hosted_agent_failed"
    status = 502


class HostedAgentMissing(HostedAgentFailed):
    """There is no such program to be the agent. The operator has to install it, or to set agent_command to its whole path."""

    code = "hosted_agent_missing"
    status = 503


class HostedAgentSignIn(HostedAgentFailed):
    """The agent's program wants somebody to sign in first. The operator has to do that, as that program's own documentation says."""

    code = "hosted_agent_sign_in"
    status = 503


class HostedAgentSilent(TimedOut):
    """The agent's program does not answer, and was ended. Say it again: it is started anew."""

    code = "hosted_agent_silent"


class HostedAgentClosed(Forbidden):
    """The agent's program has the rights of the daemon, so only the operator talks to it. The operator can open it to others (agent_command_users)."""

    code = "hosted_agent_closed"
