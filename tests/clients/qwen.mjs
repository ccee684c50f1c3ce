// What qwen-code's published client does with the memory of a workspace, one call after another. Says as JSON what came of it.
//
// node qwen.mjs <address of the daemon>; the token is in COMMONPLACE_TOKEN.

import assert from "node:assert/strict";
import { DaemonClient, DaemonHttpError, normalizeDaemonEvent, requireWorkspaceCwd } from "@qwen-code/sdk/daemon";

const [baseUrl] = process.argv.slice(2);
const client = new DaemonClient({ baseUrl, token: process.env.COMMONPLACE_TOKEN, fetchTimeoutMs: 10_000 });

async function over(look) {
  for (let look_again = 0; look_again < 500; look_again++) {
    const task = await look();
    if (task.status === "completed" || task.status === "failed") return task;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error("The task did not end.");
}

const refused = async (call) => {
  try {
    await call();
  } catch (error) {
    assert.ok(error instanceof DaemonHttpError, String(error));
    return [error.status, error.body.code];
  }
  throw new Error("It was not refused.");
};

const capabilities = await client.capabilities();
assert.ok(capabilities.features.includes("workspace_memory_remember"));
assert.equal(requireWorkspaceCwd(capabilities), capabilities.workspaceCwd);

// Remember, without and with a client id, in both modes, and with a scope, for which the client asks for more capabilities.
const queued = await client.rememberWorkspaceMemory("I prefer dark mode in all editors");
assert.match(queued.taskId, /^remember-[0-9a-f-]{36}$/);
assert.deepEqual([queued.status, queued.contextMode], ["queued", "workspace"]);
const saved = await over(() => client.getWorkspaceMemoryRememberTask(queued.taskId));
assert.equal(saved.status, "completed");
assert.deepEqual(saved.result.touchedScopes, ["user"]);
assert.equal(saved.result.filesTouched.length, 1);
assert.equal(saved.error, null);

const own = { clientId: "web-1" };
const mine = await client.rememberWorkspaceMemory("The project ships on Fridays", { contextMode: "clean", ...own });
assert.equal(mine.contextMode, "clean");
const shipped = await over(() => client.getWorkspaceMemoryRememberTask(mine.taskId, own));
assert.deepEqual(shipped.result.touchedScopes, ["project"]);
const hidden = await refused(() => client.getWorkspaceMemoryRememberTask(mine.taskId));
const alien = await refused(() => client.getWorkspaceMemoryRememberTask(mine.taskId, { clientId: "web-2" }));

for (const scope of ["project", "user"]) {
  const content = `The style guide of the ${scope} wants short functions`;
  const task = await client.rememberWorkspaceMemory(content, { scope, contextMode: "clean" });
  assert.equal(task.scope, scope);
  const done = await over(() => client.getWorkspaceMemoryRememberTask(task.taskId));
  assert.deepEqual(done.result.touchedScopes, [scope]);
}

// Dream and forget.
const dream = await client.dreamWorkspaceMemory();
const dreamt = await over(() => client.getWorkspaceMemoryDreamTask(dream.taskId));
assert.equal(dreamt.status, "completed");
assert.equal(typeof dreamt.result.dedupedEntries, "number");

const forget = await client.forgetWorkspaceMemory("dark mode", { scope: "user" });
const forgot = await over(() => client.getWorkspaceMemoryForgetTask(forget.taskId));
assert.deepEqual(forgot.result.removedEntries.map((one) => one.topic), ["user"]);
assert.deepEqual([forgot.result.touchedTopics, forgot.result.touchedScopes], [["user"], ["user"]]);

// Files.
const wrote = await client.writeWorkspaceMemory({ scope: "workspace", content: "Run the tests first.", mode: "append" });
assert.deepEqual([wrote.ok, wrote.mode, wrote.changed], [true, "append", true]);
const files = await client.workspaceMemory();
assert.deepEqual(files.files.map((file) => [file.kind, file.scope]), [["memory_file", "workspace"]]);

// What the client makes of an event of ours.
const event = {
  id: 1, v: 1, type: "memory_changed",
  data: {
    scope: "managed", source: "workspace_memory_remember", taskId: queued.taskId, touchedScopes: saved.result.touchedScopes,
  },
};
const [heard] = normalizeDaemonEvent(event);
assert.equal(heard.type, "workspace.memory.changed");

console.log(JSON.stringify({
  saved: saved.result.filesTouched[0],
  shipped: shipped.result.filesTouched[0],
  dreamt: dreamt.result,
  hidden,
  alien,
  empty: await refused(() => client.rememberWorkspaceMemory("   ")),
  mode: await refused(() => client.rememberWorkspaceMemory("A fact", { contextMode: "dirty" })),
  query: await refused(() => client.forgetWorkspaceMemory("")),
  client: await refused(() => client.rememberWorkspaceMemory("A fact", { clientId: "no spaces please" })),
  lost: await refused(() => client.getWorkspaceMemoryDreamTask("dream-none")),
}));
