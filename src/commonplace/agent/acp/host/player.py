"""
Another agent as the one who does the work of sessions: what is said to it, and what it says, is kept, asked about and charged as with our
own.

It has a model, tools and a prompt of its own. From us it has the recalled memory before the person's words, its memory over MCP, and
a person's answer to each permission that it asks for.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

from commonplace.agent.acp.host.hosted_agent import HostedAgent, HostParts, is_careful
from commonplace.agent.acp.host.hosted_turn import HostedTurn
from commonplace.agent.live_session import LiveSession, Player, Prompt, Tail
from commonplace.errors import Forbidden, InvalidInput
from commonplace.values.principal import Principal
from commonplace.values.session_state import SessionOptions


class AcpHost(Player):
    """Plays turns by an agent that speaks the Agent Client Protocol, one program a live session."""

    def __init__(self, parts: HostParts) -> None:
        self._parts = parts
        self._agents: WeakKeyDictionary[LiveSession, HostedAgent] = WeakKeyDictionary()

    async def play(self, live: LiveSession, prompt: Prompt) -> Tail | None:
        """As `Player.play`."""
        return await HostedTurn(self._parts, live, prompt, self._agent(live)).play()

    async def options(self, live: LiveSession, who: Principal) -> SessionOptions:
        """As `Player.options`. What the agent can be set to is known once it was started."""
        del who
        options = self._agent(live).session.options
        return SessionOptions(
            mode=options.mode or live.mode or "default",
            modes=options.modes,
            model=options.model or live.session.model or self._parts.command.name,
            models=options.models,
        )

    async def configure(self, live: LiveSession, who: Principal, *, mode: str | None, model: str | None) -> None:
        """As `Player.configure`."""
        agent = self._agent(live)
        if mode is not None and not is_careful(mode) and not (who.operator and self._parts.allow_all):
            raise Forbidden(
                f"In the mode {mode!r:.60} the agent may act without asking. Only the operator chooses it, with agent_allow_all set."
            )
        profile = await self._parts.profile_of(who, live.session.agent)
        if mode is not None and profile.approval == "plan" and who.role != "admin":
            raise Forbidden("This agent only plans. An admin can change that in the agent's settings.")
        await agent.open(who)
        if mode is not None:
            await agent.session.set_mode(mode)
        if model is not None:
            if model not in agent.session.options.models:
                names = ", ".join(agent.session.options.models) or "none but its own"
                raise InvalidInput(f"The agent offers no model {model!r:.80}. It offers: {names}.")
            await agent.session.set_model(model)

    def _agent(self, live: LiveSession) -> HostedAgent:
        if live not in self._agents:
            agent = self._agents[live] = HostedAgent(self._parts, live)
            live.stack.push_async_callback(agent.aclose)
        return self._agents[live]
