"""One turn of a hosted agent: its updates become messages, events, calls and usage as those of our own agent are."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final
from uuid import uuid4

from acp import RequestError

from commonplace.agent.acp.host.calls import HostedCall, HostedCalls, OfferedOptions
from commonplace.agent.acp.host.child import Message, refusal
from commonplace.agent.acp.host.client_side import ClientParts, HostedClient
from commonplace.agent.acp.host.history_tail import history_tail
from commonplace.agent.acp.host.hosted_agent import HostedAgent, HostParts
from commonplace.agent.acp.host.session import AcpQuestion, Item
from commonplace.agent.acp.host.updates import Fields, block_text, entries, fields, read_options, text
from commonplace.agent.acp.host.usage import HostedUsage
from commonplace.agent.live_session import LiveSession, Prompt, Tail
from commonplace.agent.live_sessions import HOSTED, said
from commonplace.agent.memory.backend import HiddenEvent, Recalled
from commonplace.agent.prompt import RULES
from commonplace.agent.tools.tool import ToolResult, one_line
from commonplace.agent.turn_course import Equipment, TurnCourse
from commonplace.errors import CommonplaceError
from commonplace.ports.chat import HostedBill, HostedCharge
from commonplace.text.scrub import scrub
from commonplace.values.agent_errors import HostedAgentFailed
from commonplace.values.permission import CHOICES, PermissionAnswer, PermissionChoice, PermissionRequest
from commonplace.values.turn_event import ModeChanged, StopReason, TurnUsage

LOGGER: Final = logging.getLogger("commonplace")
_TOO_MUCH: Final = "I stopped here: I was saying far more than anybody reads. Ask me for less."
_NO_END: Final = "The agent did not say how this ended."
_NOT_PERMITTED: Final = "This call was not permitted."
_STOPS: Final[dict[str, StopReason]] = {
    "end_turn": "end_turn",
    "max_tokens": "max_tokens",
    "max_turn_requests": "max_turn_requests",
    "refusal": "refusal",
    "cancelled": "cancelled",
}
_STOP_SECONDS: Final = 1.0
_MOST_PLAN: Final = 200
_PLAN: Final = frozenset({"pending", "in_progress", "completed"})


class HostedTurn(TurnCourse):
    def __init__(self, parts: HostParts, live: LiveSession, prompt: Prompt, agent: HostedAgent) -> None:
        super().__init__(parts, live, prompt)
        self._host = parts
        self._agent = agent
        self._session = agent.session
        self._calls = HostedCalls(parts.command.name, None)
        self._spending = HostedUsage()
        self._questions: dict[asyncio.Task[None], AcpQuestion] = {}
        self._door = asyncio.Lock()
        self._message = ""
        self._characters_in = self._characters_out = 0

    # ---- the way of a turn

    async def _played(self) -> Tail | None:
        host, live, prompt = self._host, self._live, self._prompt
        await self._record.keep(said(prompt))
        self._agent.require(prompt.who)
        async with host.equip(live, prompt) as equipment:
            self._usage = TurnUsage(model=host.command.name)
            self._tell_start(host.command.name)
            recalled = await self._recall(equipment)
            async with host.purse.open(host.task(live, prompt.who), host.command.name) as bill:
                reply, stop = await self._converse(equipment, recalled, bill)
            await self._finish(reply, stop)
        # A turn that the agent broke off leaves nothing to learn.
        return None if stop == "cancelled" else self._tail(equipment, reply)

    async def _converse(
        self, equipment: Equipment, recalled: Sequence[Recalled], bill: HostedBill
    ) -> tuple[str, StopReason]:
        agent, prompt = self._agent, self._prompt
        if (address := await agent.open(prompt.who)) is not None:
            await self._record.hide(HiddenEvent(name=HOSTED, data=address))
        folder = await self._host.folder_of(self._live, prompt.who)
        self._calls = HostedCalls(self._host.command.name, folder)
        client = HostedClient(
            ClientParts(
                agent=self._host.command.name,
                folder=folder,
                may_run=prompt.who.operator,
                tools=self._host.tools,
                supplies=self._live.supplies,
                calls=self._calls,
                permit=self._permits,
            )
        )
        self._spending = HostedUsage(self._session.cost_micro_usd)
        agent.speaker = prompt.who
        try:
            return await self._answered(self._blocks(equipment, recalled), client)
        finally:
            agent.speaker = None
            await client.aclose()
            await self._drop_questions()
            await self._charge(bill)

    def _blocks(self, equipment: Equipment, recalled: Sequence[Recalled]) -> list[Message]:
        """What the agent works under, if it does not know; what was said before it came; the recalled memory; the person's words."""
        agent, live = self._agent, self._live
        texts: list[str] = []
        preamble = _preamble(equipment, recalled)
        if preamble != agent.preamble:
            texts.append(preamble)
            agent.preamble = preamble
        if not agent.knows_history:
            earlier = [message for message in live.messages if message.run != self._prompt.run]
            texts += [tail for tail in [history_tail(earlier, live.summary)] if tail]
            agent.knows_history = True
        texts += [scrub(part.reference).text for part in recalled if part.reference]
        texts.append(self._prompt.text)
        self._characters_in = sum(map(len, texts))
        return [{"type": "text", "text": block} for block in texts]

    async def _answered(self, blocks: Sequence[Message], client: HostedClient) -> tuple[str, StopReason]:
        """The agent's turn, until it has answered."""
        record, session = self._record, self._session
        answer = await session.prompt(blocks, client)
        try:
            async for item in session.hear(answer):
                await self._take(item)
                if record.is_full:
                    session.abandon()
                    record.close(_TOO_MUCH)
                    return record.unfinished, "max_tokens"
            result = await answer
        except RequestError as error:
            name = self._host.command.name
            raise HostedAgentFailed(f"{name} could not answer: {refusal(error)}") from error
        except HostedAgentFailed:
            # It has ended, or nobody can talk to it any more.
            await session.aclose()
            raise
        except BaseException:
            session.abandon()
            raise
        self._spending.hear_answer(result)
        await self._close_calls()
        stop = _STOPS.get(text(result.get("stopReason")), "end_turn")
        last = record.replies[-1] if record.replies else ""
        return record.unfinished.strip() or last, stop

    async def _take(self, item: Item) -> None:
        if isinstance(item, AcpQuestion):
            self._decide(item)
            return
        update = item.fields
        self._spending.hear_meta(update)
        match update.get("sessionUpdate"):
            case "agent_message_chunk":
                self._spending.hear_chunk(update)
                self._say(update)
            case "agent_thought_chunk":
                thought = block_text(update.get("content"))
                self._characters_out += len(thought)
                self._record.think(thought)
            case "tool_call" | "tool_call_update":
                if (call := self._calls.merge(update)) is not None:
                    await self._progress(call)
            case _:
                self._note(update)

    def _note(self, update: Fields) -> None:
        match update.get("sessionUpdate"):
            case "plan":
                self._plan(update)
            case "usage_update":
                self._spending.hear_context(update)
            case "current_mode_update":
                self._mode(text(update.get("currentModeId")))
            case "config_option_update":
                self._session.options = read_options(update, self._session.options)
            case _:
                # Commands that it offers, titles, the echo of what was said, what later versions have.
                pass

    def _say(self, update: Fields) -> None:
        words, message = block_text(update.get("content")), text(update.get("messageId"))
        if not words:
            return
        if self._message and message != self._message and self._record.unfinished:
            # Another message of its own.
            self._record.say("\n\n")
        self._message = message
        self._characters_out += len(words)
        self._record.say(words)

    def _plan(self, update: Fields) -> None:
        rows = [
            (one_line(text(row.get("content")), 500), text(row.get("status")))
            for row in entries(update.get("entries"))[:_MOST_PLAN]
        ]
        self._record.plan(
            tuple(
                {"text": words, "status": status if status in _PLAN else "pending"} for words, status in rows if words
            )
        )

    def _mode(self, mode: str) -> None:
        """The agent has changed it by itself, for instance when its plan was approved."""
        before = self._session.options.mode or ""
        if mode and mode != before and mode in (option.id for option in self._session.options.modes):
            self._session.options = replace(self._session.options, mode=mode)
            self._live.mode = mode
            self._record.tell(ModeChanged(mode=mode, previous=before))

    # ---- calls

    async def _progress(self, call: HostedCall) -> None:
        """Keep the call before it runs, as far as the agent says so in time, and its result when it has one."""
        if call.status in ("in_progress", "completed", "failed"):
            await self._start(call)
        if call.status in ("completed", "failed"):
            await self._end(call, call.result)

    async def _start(self, call: HostedCall) -> None:
        async with self._door:
            if not call.is_started:
                call.is_started = True
                self._characters_out += len(call.title)
                await self._record.started(call.call)

    async def _end(self, call: HostedCall, result: ToolResult) -> None:
        async with self._door:
            if not call.is_ended:
                call.is_ended = True
                await self._record.ended(call.call, result)

    async def _close_calls(self) -> None:
        """The turn is over: nothing more will be heard of these."""
        for call in self._calls.unfinished:
            await self._start(call)
            result = call.result
            closing = _NO_END if call.is_allowed else _NOT_PERMITTED
            await self._end(call, replace(result, text=result.text or closing, failed=not call.is_allowed))

    # ---- permissions

    def _decide(self, question: AcpQuestion) -> None:
        """In a task of its own: the agent goes on telling meanwhile, and may ask several things at once."""
        update = {"toolCallId": uuid4().hex, **fields(question.params.get("toolCall"))}
        call = self._calls.merge(update) or self._calls.merge({**update, "toolCallId": uuid4().hex})
        options = OfferedOptions(question.params)
        task = asyncio.create_task(self._decided(call, options, question))
        self._questions[task] = question
        task.add_done_callback(lambda _: self._questions.pop(task, None))

    async def _decided(self, call: HostedCall | None, options: OfferedOptions, question: AcpQuestion) -> None:
        answer: PermissionAnswer | None = None
        try:
            if call is not None:
                answer = await self._permission(call, options.choices)
                call.answer, call.is_allowed = answer, answer.allows
                await self._start(call)
        except CommonplaceError as error:
            LOGGER.warning("permissions", extra={"told": {"error": error.message}})
            answer = PermissionAnswer(request="", choice="reject_once", reason=error.message)
        finally:
            if not question.answer.done():
                question.answer.set_result(options.outcome(answer))

    async def _permits(self, call: HostedCall) -> bool:
        """Whether we do something for the agent that it has not asked a permission for."""
        answer = await self._permission(call, CHOICES)
        call.answer, call.is_allowed = answer, answer.allows
        return answer.allows

    async def _permission(self, call: HostedCall, choices: tuple[PermissionChoice, ...]) -> PermissionAnswer:
        """Raises PermissionsFull: too many wait."""
        id_, described, rule = uuid4().hex, call.described, call.rule
        if not call.is_plain_to_see:
            choices = tuple(choice for choice in choices if choice in ("allow_once", "reject_once"))
        call.asked = call.told
        verdict = self._rules.verdict(described, rule)
        if verdict == "refuse" or choices == ("reject_once",):
            return PermissionAnswer(request=id_, choice="reject_once", reason="this agent only plans")
        if verdict == "allow":
            return PermissionAnswer(request=id_, choice=choices[0])
        request = PermissionRequest(
            id=id_,
            call=call.id,
            tool=call.tool,
            kind=call.kind,
            title=call.title,
            rule=rule,
            arguments=call.arguments,
            diff=await asyncio.to_thread(lambda: call.diff),
            choices=choices,
        )
        answer = await self._ask(request)
        if answer.allows:
            try:
                await asyncio.to_thread(self._rules.remember, rule, answer)
            except CommonplaceError as error:
                # This call is allowed all the same; the next one is asked about again.
                LOGGER.warning("permissions", extra={"told": {"error": error.message}})
        return answer

    async def _drop_questions(self) -> None:
        """Whatever the agent still asks is about nothing any more."""
        tasks = [*self._questions]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    # ---- its end

    async def _charge(self, bill: HostedBill) -> None:
        spending = self._spending.spending(self._characters_in, self._characters_out)
        self._session.cost_micro_usd = self._spending.cost_so_far
        charge = HostedCharge(
            requests=spending.requests,
            input_tokens=spending.input_tokens,
            output_tokens=spending.output_tokens,
            cost_micro_usd=spending.cost_micro_usd,
            estimated=spending.estimated,
        )
        cost = await bill.charge(charge)
        if cost.passed:
            passed: Any = list(cost.passed)
            self._record.run.note("budget_estimate_passed", {"caps": passed})
            LOGGER.warning("a hosted agent has probably passed a budget: %s", ", ".join(cost.passed))
        self._context_tokens, self._context_size = spending.used, spending.size
        self._usage = TurnUsage(
            model=self._host.command.name,
            requests=spending.requests,
            input_tokens=spending.input_tokens,
            output_tokens=spending.output_tokens,
            cached_tokens=spending.cached_tokens,
            thought_tokens=spending.thought_tokens,
            cost_micro_usd=cost.micro_usd,
            estimated=spending.estimated,
        )

    async def _stopped(self) -> None:
        self._session.abandon()
        await self._session.settle(_STOP_SECONDS)
        for item in self._session.rest():
            if isinstance(item, AcpQuestion):
                if not item.answer.done():
                    item.answer.set_result({"outcome": {"outcome": "cancelled"}})
            else:
                await self._take(item)


def _preamble(equipment: Equipment, recalled: Sequence[Recalled]) -> str:
    """What the operator and the memory have to say before any words of a person."""
    rules = dict.fromkeys([*RULES[:2], *(part.rule for part in recalled if part.rule)])
    blocks = [
        (equipment.persona or "").strip(),
        "\n".join(["## Rules of this place", *(f"- {rule}" for rule in rules)]),
        *(section for part in recalled for section in part.sections),
        *equipment.resources,
    ]
    return scrub("\n\n".join(block.strip() for block in blocks if block.strip())).text
