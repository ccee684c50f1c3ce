// Files on their way to the memory: out of a choice or a drop, sifted as an import of the server would, read and sent in portions.

import { post } from '../api.js';
import { fresh, h } from '../dom.js';

const TEXTS = /\.(md|markdown|mdx|txt)$/i;
const LEFT_OUT = new Set(['node_modules', 'dist', 'build', 'target']);
const LARGEST = 2 * 1024 * 1024;
const MOST_BYTES = 8_000_000;
const MOST_FILES = 500;

/** A button that chooses files, in the page's language: the browser's own speaks the browser's. */
export function chooser(label, props, onPick) {
  const id = fresh('files');
  const input = h('input', {
    id,
    type: 'file',
    class: 'visually-hidden',
    ...props,
    on: {
      change: () => {
        const files = [...input.files];
        // Emptied, so that the same choice made again is a choice.
        input.value = '';
        onPick(files);
      },
    },
  });
  return h('span', { class: 'chooser' }, input, h('label', { for: id, class: 'button' }, label));
}

/** What an <input type=file> holds, with the path inside the folder where one was chosen. */
export const chosen = (list) => [...list].map((file) => ({ path: file.webkitRelativePath || file.name, file }));

/** What was dropped, folders and all. The entries must be taken at once: after the event they are gone. */
export function dropped(transfer) {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  return entries.length ? walked(entries) : Promise.resolve(chosen(transfer.files));
}

async function walked(entries) {
  const found = [];
  const todo = [...entries];
  while (todo.length) {
    const entry = todo.pop();
    const path = entry.fullPath.replace(/^\//, '');
    if (entry.isFile)
      found.push({
        path,
        file: await new Promise((resolve, reject) => {
          entry.file(resolve, reject);
        }),
      });
    else if (!skipped(entry.name)) todo.push(...(await listed(entry.createReader())));
  }
  return found;
}

async function listed(reader) {
  const all = [];
  for (;;) {
    // A reader tells a hundred at a time.
    const some = await new Promise((resolve, reject) => {
      reader.readEntries(resolve, reject);
    });
    if (!some.length) return all;
    all.push(...some);
  }
}

const skipped = (name) => name.startsWith('.') || LEFT_OUT.has(name);

/** Those worth sending, in the order of their paths, and the others with the reason: hidden, kind, large, path. */
export function sifted(files) {
  const kept = new Map();
  const left = [];
  for (const one of files) {
    const reason = unfit(one);
    if (reason) left.push({ file: one.path, reason });
    else kept.set(one.path, one);
  }
  return { kept: [...kept.values()].sort((one, other) => (one.path < other.path ? -1 : 1)), left };
}

function unfit({ path, file }) {
  const parts = path.split('/');
  if (parts.some(skipped)) return 'hidden';
  if (!TEXTS.test(path)) return 'kind';
  if (file.size > LARGEST) return 'large';
  if (/[\\\p{C}]/u.test(path) || parts[0].includes(':') || parts.some((part) => part !== part.trim())) return 'path';
  return null;
}

/**
 * Send files in portions below what the daemon takes at once. `onSent(count, task)` is told of each portion, `onLeft(path, reason)` of each
 * file that turned out not to be text, could not be read any more, or was too large after all.
 */
export async function send(files, { scope, format, force = false, onSent, onLeft, signal }) {
  let portion = [];
  let bytes = 0;
  const flush = async () => {
    const going = portion;
    portion = [];
    bytes = 0;
    if (going.length) await sendPortion(going, { scope, format, force, onSent, onLeft, signal });
  };
  for (const one of files) {
    const text = await textOf(one.file);
    if (text === null) {
      onLeft(one.path, 'binary');
      continue;
    }
    const part = { path: one.path, text };
    const weight = new TextEncoder().encode(JSON.stringify(part)).length + 1;
    if (portion.length >= MOST_FILES || (portion.length && bytes + weight > MOST_BYTES)) await flush();
    portion.push(part);
    bytes += weight;
  }
  await flush();
}

async function sendPortion(files, told) {
  try {
    const { scope, format, force, signal } = told;
    const { job } = await post('/v1/import/files', { scope, format, force, files }, { signal });
    told.onSent(files.length, job);
  } catch (error) {
    if (error.status !== 413) throw error;
    // This daemon takes less at once than others.
    const half = Math.floor(files.length / 2);
    if (!half) return told.onLeft(files[0].path, 'large');
    await sendPortion(files.slice(0, half), told);
    await sendPortion(files.slice(half), told);
  }
}

async function textOf(file) {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(await file.arrayBuffer());
    return text.includes('\0') ? null : text;
  } catch {
    return null;
  }
}
