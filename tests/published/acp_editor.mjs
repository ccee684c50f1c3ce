// An editor on the official SDK: `node acp_editor.mjs FOLDER_OF_MODULES WORKSPACE COMMAND…`. It drives the agent that the command
// starts, permits everything once, and prints what it was told, and what the SDK's own schemas say against it.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable, Transform, Writable } from "node:stream";
import { pathToFileURL } from "node:url";

const [modules, workspace, command, ...args] = process.argv.slice(2);
const sdk = join(modules, "@agentclientprotocol", "sdk", "dist", "v1");
const acp = await import(pathToFileURL(join(sdk, "stable", "acp.js")));
const zod = await import(pathToFileURL(join(sdk, "schema", "zod.gen.js")));

// `usage` of an answer to a prompt is in the schema that is not stable yet.
const next = await import(pathToFileURL(join(sdk, "unstable", "schema", "zod.gen.js")));

const answers = {
  initialize: zod.zInitializeResponse,
  logout: zod.zLogoutResponse,
  "session/new": zod.zNewSessionResponse,
  "session/load": zod.zLoadSessionResponse,
  "session/resume": zod.zResumeSessionResponse,
  "session/list": zod.zListSessionsResponse,
  "session/close": zod.zCloseSessionResponse,
  "session/delete": zod.zDeleteSessionResponse,
  "session/set_mode": zod.zSetSessionModeResponse,
  "session/set_config_option": zod.zSetSessionConfigOptionResponse,
  "session/prompt": next.zPromptResponse,
};
const questions = {
  "session/update": zod.zSessionNotification,
  "session/request_permission": zod.zRequestPermissionRequest,
  "fs/read_text_file": zod.zReadTextFileRequest,
  "fs/write_text_file": zod.zWriteTextFileRequest,
  "terminal/create": zod.zCreateTerminalRequest,
  "terminal/output": zod.zTerminalOutputRequest,
  "terminal/wait_for_exit": zod.zWaitForTerminalExitRequest,
  "terminal/kill": zod.zKillTerminalRequest,
  "terminal/release": zod.zReleaseTerminalRequest,
};
const methods = new Map();
const faults = [];

// The schemas mend or drop what does not fit, so what comes out has to be what went in.
function check(name, schema, value) {
  if (schema === undefined) return void faults.push(`${name}: no schema`);
  const parsed = schema.safeParse(value);
  if (!parsed.success) return void faults.push(`${name}: ${parsed.error.message}`);
  try {
    assert.deepEqual(parsed.data, value);
  } catch {
    faults.push(`${name}: ${JSON.stringify(value)} is read as ${JSON.stringify(parsed.data)}`);
  }
}

function lines(each) {
  let rest = "";
  return new Transform({
    transform(chunk, _, done) {
      const parts = (rest + chunk).split("\n");
      rest = parts.pop();
      parts.filter(Boolean).forEach((line) => each(JSON.parse(line)));
      done(null, chunk);
    },
  });
}

const agent = spawn(command, args, { cwd: workspace, stdio: ["pipe", "pipe", "inherit"] });
const sent = lines((message) => message.method && message.id !== undefined && methods.set(message.id, message.method));
const received = lines((message) => {
  if (message.method) check(message.method, questions[message.method], message.params);
  else if (message.result !== undefined) check(methods.get(message.id), answers[methods.get(message.id)], message.result);
});
sent.pipe(agent.stdin);
agent.stdout.pipe(received);

const updates = [];
const asked = [];
const buffers = new Map([[join(workspace, "notes.md"), "We ship on Tuesdays\n"]]);
function on(client, method, answer) {
  return client.onRequest(method, ({ params }) => {
    asked.push(method);
    return answer(params);
  });
}
let client = acp.client({ name: "editor" });
client = on(client, "session/request_permission", ({ options }) => {
  const { optionId } = options.find(({ kind }) => kind === "allow_once");
  return { outcome: { outcome: "selected", optionId } };
});
client = on(client, "fs/read_text_file", ({ path }) => {
  if (!buffers.has(path)) throw acp.RequestError.resourceNotFound(path);
  return { content: buffers.get(path) };
});
client = on(client, "fs/write_text_file", ({ path, content }) => {
  buffers.set(path, content);
  writeFileSync(path, content);
  return {};
});
client = on(client, "terminal/create", () => ({ terminalId: "t1" }));
client = on(client, "terminal/wait_for_exit", () => ({ exitCode: 0, signal: null }));
client = on(client, "terminal/output", () => ({ output: "built\n", truncated: false }));
client = on(client, "terminal/release", () => ({}));
client = client.onNotification("session/update", ({ params }) => void updates.push(params.update));

const stream = acp.ndJsonStream(Writable.toWeb(sent), Readable.toWeb(received));
const report = await client.connectWith(stream, async (cx) => {
  const hello = await cx.request("initialize", {
    protocolVersion: acp.PROTOCOL_VERSION,
    clientCapabilities: { fs: { readTextFile: true, writeTextFile: true }, terminal: true },
  });
  const { sessionId, modes } = await cx.request("session/new", { cwd: workspace, mcpServers: [] });
  const prompt = [
    { type: "text", text: "Fix the notes, then build" },
    { type: "resource_link", name: "notes.md", uri: `file://${workspace}/notes.md` },
  ];
  const ended = await cx.request("session/prompt", { sessionId, prompt });
  await cx.request("session/set_mode", { sessionId, modeId: "plan" });
  const config = await cx.request("session/set_config_option", { sessionId, configId: "mode", value: "default" });
  const told = updates.length;
  await cx.request("session/load", { sessionId, cwd: workspace, mcpServers: [] });
  await cx.request("session/resume", { sessionId, cwd: workspace, mcpServers: [] });
  const { sessions } = await cx.request("session/list", {});
  await cx.request("session/close", { sessionId });
  await cx.request("session/delete", { sessionId });
  await cx.request("logout", {});
  const gone = await cx.request("session/load", { sessionId, cwd: workspace, mcpServers: [] }).catch((error) => error.code);
  return {
    hello,
    modes,
    config: config.configOptions.map(({ category, currentValue }) => [category, currentValue]),
    stopReason: ended.stopReason,
    usage: ended.usage,
    first: updates.slice(0, told).map(({ sessionUpdate }) => sessionUpdate),
    loaded: updates.slice(told).map(({ sessionUpdate }) => sessionUpdate),
    sessions: sessions.map(({ cwd, title }) => [cwd, title]),
    gone,
  };
});
agent.stdin.end();
const code = await new Promise((resolve) => agent.on("exit", resolve));
console.log(JSON.stringify({ ...report, asked, faults, code, notes: buffers.get(join(workspace, "notes.md")) }));
process.exit(0);
