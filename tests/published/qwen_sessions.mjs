// What qwen-code's published client does with sessions of the agent, one call after another. Says as JSON what came of it.
//
// node qwen_sessions.mjs <address of the daemon> first|again|many [<session>]; two persons' keys are in ANA and BO.

import assert from "node:assert/strict";
import {
  DaemonClient,
  DaemonHttpError,
  DaemonPendingPromptLimitError,
  DaemonSessionClient,
  asKnownDaemonEvent,
} from "@qwen-code/sdk/daemon";

const [baseUrl, stage, before] = process.argv.slice(2);
const PATIENCE = stage === "many" ? 90_000 : 20_000;
const open = (token) => new DaemonClient({ baseUrl, token, fetchTimeoutMs: PATIENCE, maxPendingPromptsPerSession: null });
const [ana, bo] = [open(process.env.ANA), open(process.env.BO)];
const said = (text) => ({ prompt: [{ type: "text", text }] });

const refused = async (call) => {
  try {
    await call();
  } catch (error) {
    // What the client makes of 503 `prompt_queue_full`.
    if (error instanceof DaemonPendingPromptLimitError) return ["full", error.limit, error.pendingCount];
    assert.ok(error instanceof DaemonHttpError, String(error));
    return [error.status, error.body.code];
  }
  throw new Error("It was not refused.");
};

// Everything that a session tells, as the client reads it.
function hear(session, options, listen = (more) => session.events(more)) {
  const heard = [];
  const waiting = new Set();
  const stop = new AbortController();
  const done = (async () => {
    try {
      for await (const event of listen({ signal: stop.signal, ...options })) {
        heard.push(event);
        for (const look of [...waiting]) look();
      }
    } catch (error) {
      if (!stop.signal.aborted) throw error;
    }
  })();
  const until = (holds) =>
    new Promise((resolve, reject) => {
      const late = setTimeout(() => reject(new Error(`Only heard ${heard.map((one) => one.type)}`)), PATIENCE);
      const look = () => {
        const found = heard.filter(holds);
        if (!found.length) return;
        clearTimeout(late);
        waiting.delete(look);
        resolve(found[found.length - 1]);
      };
      waiting.add(look);
      look();
    });
  return { heard, until, close: async () => (stop.abort(), await done) };
}

const over = (ticket) => (event) =>
  ["turn_complete", "turn_error"].includes(event.type) && event.data.promptId === ticket.promptId;
const asked = (count) => (event, index, all) =>
  event.type === "permission_request" && all.slice(0, index + 1).filter((one) => one.type === event.type).length === count;
const says = (text) => (event) => event.type === "session_update" && event.data.update.content?.text === text;
const texts = (events) =>
  events
    .filter((event) => event.type === "session_update" && event.data.update.sessionUpdate === "agent_message_chunk")
    .map((event) => event.data.update.content.text)
    .join("");

async function first() {
  assert.deepEqual((await ana.health()).status, "ok");
  const capabilities = await ana.capabilities();
  for (const feature of ["session_create", "session_events", "session_permission_vote", "prompt_absolute_deadline"])
    assert.ok(capabilities.features.includes(feature), feature);
  const cwd = capabilities.workspaceCwd;

  // Create, prompt, events.
  const session = await DaemonSessionClient.createOrAttach(ana, { workspaceCwd: cwd, approvalMode: "default" });
  const events = hear(session, { lastEventId: 0 });
  const answer = await session.prompt(said("hello"));
  assert.equal(answer.stopReason, "end_turn");
  await events.until((event) => event.type === "turn_complete");
  assert.equal(texts(events.heard), "Good morning.");
  assert.ok((await session.heartbeat()).lastSeenAt > 0);

  // A permission: an option that was not offered, the answer, and a second one.
  let ticket = await session.submitPrompt(said("Write a."));
  let { data: request } = await events.until(asked(1));
  const respond = (who, optionId) =>
    who.respondToSessionPermission(request.requestId, { outcome: { outcome: "selected", optionId } });
  const odd = await refused(() => respond(session, "nope"));
  assert.equal(await respond(session, "proceed_once"), true);
  assert.equal(await respond(session, "proceed_once"), false);
  await events.until(over(ticket));

  // Consensus: a second person in the same session. One vote a person, however often they vote; both have to agree.
  const other = await DaemonSessionClient.createOrAttach(bo, { workspaceCwd: cwd });
  assert.deepEqual([other.sessionId, other.attached], [session.sessionId, true]);
  ticket = await session.submitPrompt(said("Write b."));
  ({ data: request } = await events.until(asked(2)));
  assert.equal(await respond(session, "proceed_once"), true);
  assert.equal(await respond(session, "proceed_once"), true);
  const partial = await events.until((event) => event.type === "permission_partial_vote");
  assert.equal(await respond(other, "proceed_once"), true);
  await events.until(over(ticket));

  // Cancel.
  ticket = await session.submitPrompt(said("Take your time."));
  await events.until(says("Long "));
  await session.cancel();
  const cancelled = await events.until(over(ticket));

  // The queue, and one that is taken back.
  const tickets = [];
  for (let number = 0; number < 5; number++) tickets.push(await session.submitPrompt(said(`Number ${number}`)));
  const full = await refused(() => session.submitPrompt(said("One too many")));
  const pending = (await session.getPendingPrompts()).pendingPrompts.map((one) => one.state);
  const removed = await session.removePendingPrompt(tickets[4].promptId);
  await events.until(says("Longer "));
  await session.cancel();
  const left = (event) => event.type === "pending_prompt_completed" && event.data.promptId === tickets[3].promptId;
  await events.until(left);

  // Replay: what came after an event, and then that this was all.
  const last = events.heard.filter((event) => event.id).at(-1).id;
  const { clientId } = session;
  const again = hear(session, { lastEventId: last - 3 }, (more) => ana.subscribeEvents(session.sessionId, { clientId, ...more }));
  await again.until((event) => event.type === "replay_complete");
  const replayed = again.heard.filter((event) => event.id).map((event) => event.id);
  await again.close();
  assert.deepEqual(replayed, [last - 2, last - 1, last]);

  // Memory, which both hear of; mode, name, and what there is to see.
  await ana.writeWorkspaceMemory({ scope: "workspace", content: "Run the tests first.", mode: "append" });
  const memory = await events.until((event) => event.type === "memory_changed");
  const mode = await ana.setSessionApprovalMode(session.sessionId, "plan", {}, session.clientId);
  assert.deepEqual(mode, { sessionId: session.sessionId, mode: "plan", previous: "default", persisted: false });
  await session.updateMetadata({ displayName: "Two of us" });
  await events.until((event) => event.type === "session_metadata_updated");
  const stats = await session.stats();
  const usage = await session.contextUsage();
  const transcript = await session.getTranscriptPage({ limit: 2 });
  const listed = await ana.listWorkspaceSessions(cwd);
  const unsupported = await refused(() => ana.recapSession(session.sessionId));
  // Of these the client knows the names, and no shape.
  const shapeless = ["replay_complete", "prompt_cancelled"];
  const odds = events.heard.filter((one) => !asKnownDaemonEvent(one) && !shapeless.includes(one.type)).map((one) => one.type);

  // The other one leaves; the session goes on.
  await other.detach();
  assert.equal((await session.status()).clientCount, 1);
  await events.close();
  return {
    session: session.sessionId,
    odd,
    full,
    pending,
    removed,
    odds,
    partial: { ...partial.data, requestId: null, sessionId: null },
    cancelled: cancelled.data.stopReason,
    memory: memory.data.mode,
    prompts: stats.promptCount,
    window: usage.usage.contextWindowSize,
    unsupported,
    transcript: transcript.events.length,
    name: listed.find((one) => one.sessionId === session.sessionId).displayName,
    stranger: await refused(() => ana.prompt(session.sessionId, said("x"), undefined, "client_of_nobody")),
  };
}

async function later() {
  // The daemon was restarted: the session has to be loaded, and goes on.
  const lost = await refused(() => ana.sessionStatus(before));
  const session = await DaemonSessionClient.load(ana, before, {});
  const replay = session.replaySnapshot.compactedReplay;
  const events = hear(session);
  const ticket = await session.submitPrompt(said("And after the restart?"));
  await events.until(over(ticket));
  const resumed = await DaemonSessionClient.resume(ana, before, {});
  await resumed.detach();
  await session.close();
  await events.until((event) => event.type === "session_closed");
  await events.close();
  const closed = await refused(() => ana.sessionStatus(before));
  const removed = await ana.deleteSessionsData([before]);
  return { lost, closed, replay: texts(replay), mode: session.state.modes.currentModeId, text: texts(events.heard), removed };
}

// Fifty at once, each heard from its beginning to the end of its turn.
async function many() {
  const { workspaceCwd } = await ana.capabilities();
  const begin = () => DaemonSessionClient.createOrAttach(ana, { workspaceCwd, sessionScope: "thread" });
  const sessions = await Promise.all(Array.from({ length: 50 }, begin));
  const talks = sessions.map(async (session, number) => {
    const events = hear(session, { lastEventId: 0 });
    const ticket = await session.submitPrompt(said(`Number ${number}`));
    await events.until(over(ticket));
    await events.close();
    const own = events.heard.filter((event) => event.id);
    const { text } = own[0].data.update.content;
    const isWhole = own.every((event, place) => event.id === place + 1 && event.data.sessionId === session.sessionId);
    return { said: text === `Number ${number}`, heard: texts(own), isWhole };
  });
  const heard = await Promise.all(talks);
  await Promise.all(sessions.map((session) => session.close()));
  const left = await ana.listWorkspaceSessions(workspaceCwd);
  return {
    sessions: new Set(sessions.map((session) => session.sessionId)).size,
    own: heard.filter((one) => one.said && one.isWhole).length,
    texts: [...new Set(heard.map((one) => one.heard))],
    clients: left.reduce((sum, one) => sum + one.clientCount, 0),
  };
}

const stages = { first, again: later, many };
console.log(JSON.stringify(await stages[stage]()));
process.exit(0);
