// The events of a run as the story of it: question, hits, block, tools, permissions, reply, lessons. Pure.

import { isRecalled } from './talk.js';

const BEGAN = 'session_run_started';
const FINISHED = new Set(['session_run_finished', 'run_cancelled']);

/**
 * The steps of a run, in order, each with its `kind` (question, hits, block, tool, permission, end, reply, learned, other), when it was (`at`, in
 * milliseconds) and the events it is made of (`events`).
 */
export function stepsOf(events) {
  const steps = [];
  for (const event of events) {
    const earlier = steps.find((step) => belongs(step, event));
    if (earlier) {
      earlier.events.push(event);
      Object.assign(earlier, event.type === 'tool_ended' ? { ended: event.payload } : { answer: event.payload });
    } else steps.push(...newSteps(event).map((step) => ({ ...step, at: event.ts_ms, events: [event] })));
  }
  return steps;
}

/** Whether an event ends what a step began. */
function belongs(step, { type, payload }) {
  if (type === 'tool_ended') return step.kind === 'tool' && !step.ended && step.call === payload.call;
  return type === 'permission_answered' && step.kind === 'permission' && !step.answer && step.request === payload.request;
}

function newSteps({ type, status, payload: data }) {
  if (type === BEGAN) return [{ kind: 'question', text: data.text ?? '', speaker: data.speaker ?? null, model: data.model ?? null }];
  if (type === 'memory_recalled') {
    const hits = { kind: 'hits', hits: (data.hits ?? []).filter(isRecalled) };
    return data.block ? [hits, { kind: 'block', text: data.block }] : [hits];
  }
  if (type === 'tool_started')
    return [
      { kind: 'tool', call: data.call, tool: data.tool ?? '', title: data.title ?? '', arguments: data.arguments ?? {}, ended: null },
    ];
  if (type === 'permission_asked')
    return [{ kind: 'permission', request: data.request, title: data.title ?? '', rule: data.rule ?? '', answer: null }];
  if (FINISHED.has(type)) {
    const end = { kind: 'end', status: data.status ?? status, error: data.message ?? null, code: data.code ?? null, cost: costOf(data) };
    return data.reply ? [{ kind: 'reply', text: data.reply }, end] : [end];
  }
  if (type === 'memory_learned') return [{ kind: 'learned', memories: data.memories ?? [] }];
  return [{ kind: 'other', type, status }];
}

const costOf = (data) =>
  data.model
    ? { model: data.model, input: data.input_tokens ?? 0, output: data.output_tokens ?? 0, microUsd: data.cost_micro_usd ?? 0 }
    : null;

/** What a run took, as its last event but one says; null if none does. */
export function runCost(events) {
  const end = events.findLast(({ type }) => FINISHED.has(type));
  return end ? costOf(end.payload) : null;
}

/** What a turn recalled and learned, of a run that was kept: { hits, block, learned }, null where nobody said. */
export function memoryOf(events) {
  const recalled = events.find(({ type }) => type === 'memory_recalled');
  const learned = events.find(({ type }) => type === 'memory_learned');
  return {
    hits: recalled ? (recalled.payload.hits ?? []).filter(isRecalled) : null,
    block: recalled?.payload.block ?? '',
    learned: learned ? (learned.payload.memories ?? []) : null,
  };
}
