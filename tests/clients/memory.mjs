// The whole `memory` namespace of the published client, one call after another. Says as JSON what came of each.
//
// node memory.mjs <address of the daemon> <folder to import>; the token is in COMMONPLACE_TOKEN.

import assert from "node:assert/strict";
import { TandemClient } from "@frumu/tandem-client";

const [baseUrl, folder] = process.argv.slice(2);
const client = new TandemClient({ baseUrl, token: process.env.COMMONPLACE_TOKEN, timeoutMs: 10_000 });
const { memory } = client;

const text = "The team uses Rust for backend services.";
const put = await memory.put({ text, tags: ["team"], source: "docs", sessionId: "s-npm", runId: "r-npm" });
assert.equal(put.stored, true);
assert.equal(put.tier, "session");

const again = await memory.put({ text, tags: ["team"], source: "docs", sessionId: "s-npm", runId: "r-npm" });
assert.equal(again.stored, false);
assert.equal(again.id, put.id);

const capability = JSON.stringify({
  run_id: "r-npm", subject: "local", org_id: "default", workspace_id: "default", project_id: "default",
  memory: { read_tiers: ["session", "project"], write_tiers: ["session"] },
});
const capable = await memory.put({ text: "Ana leads the release.", runId: "r-npm", capability });
assert.equal(capable.stored, true);

const search = await memory.search({ query: "backend technology Rust", limit: 5 });
assert.deepEqual(search.results.map((one) => one.id), [put.id]);
assert.equal(search.count, 1);
const [hit] = search.results;
assert.equal(hit.text, text);
assert.equal(hit.runId, "r-npm");
assert.equal(hit.sourceType, "docs");
assert.deepEqual(hit.tags, ["team"]);
assert.ok(hit.score > 0 && hit.score < 1);
const narrowed = await memory.search({ query: "Rust", sessionId: "s-npm", tags: ["team"], limit: 1 });
assert.equal(narrowed.count, 1);
const elsewhere = await memory.search({ query: "Rust", sessionId: "another" });
assert.equal(elsewhere.count, 0);
const within = await memory.search({ query: "release", capability });
assert.deepEqual(within.results.map((one) => one.id), [capable.id]);

const list = await memory.list({ q: "rust", limit: 10, offset: 0, userId: "local" });
assert.deepEqual(list.items.map((one) => one.id), [put.id]);
const [item] = list.items;
assert.deepEqual([item.text, item.userId, item.sessionId, item.runId], [text, "local", "s-npm", "r-npm"]);
assert.equal((await memory.list()).count, 2);

const promoted = await memory.promote({ id: put.id });
assert.equal(promoted.promoted, true);
assert.equal(promoted.new_memory_id, put.id);

const node = await memory.contextResolveUri("tandem://resources/default");
assert.equal(node.node.node_type, "directory");
const layers = await memory.contextGenerateLayers(put.id);
assert.equal(layers.ok, true);
const tree = await memory.contextTree("tandem://resources/default", 2);
assert.equal(tree.tree.length, 1);
assert.deepEqual(tree.tree[0].children.map((child) => child.node.id), [put.id]);
assert.ok(tree.tree[0].children[0].layer_summary.l0_preview);
assert.ok((await memory.contextTree("tandem://")).tree[0].children.length > 0);

const distilled = await memory.contextDistill("s-npm", [
  "user: I prefer dark mode in every editor, and please always answer in English when we work together.",
  "assistant: Noted. I will keep that in mind for all of your projects from now on.",
  "user: We decided to deploy the payment service on Fridays. The root cause was a missing index on orders.",
]);
assert.equal(distilled.ok, true);
assert.ok(distilled.facts_extracted > 0);

const imported = await memory.importPath({ path: folder, projectId: "handbook", syncDeletes: true });
assert.deepEqual([imported.ok, imported.tier, imported.indexed_files], [true, "project", 1]);

const demoted = await memory.demote({ id: put.id, runId: "r-npm" });
assert.equal(demoted.ok, true);
assert.equal((await memory.search({ query: "backend technology Rust" })).count, 0);

const deleted = await memory.delete(put.id);
assert.equal(deleted.ok, true);
await assert.rejects(memory.delete(put.id), /404/);

const audit = await memory.audit({ run_id: "r-npm", limit: 50 });
const actions = audit.entries.map((entry) => entry.action);
assert.ok(actions.includes("memory_put") && actions.includes("memory_demote"));
assert.equal(audit.count, audit.entries.length);

process.stdout.write(JSON.stringify({ put: put.id, actions, namespace: Object.getOwnPropertyNames(Object.getPrototypeOf(memory)) }));
