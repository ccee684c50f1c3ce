// A conversation with an agent, turn by turn: from the messages that are kept, and from events as they come. Pure.

const RUNNING = new Set(['waiting', 'running']);

/**
 * A turn. `state`: waiting, running, ended, cancelled, failed, or kept (it was read, and is over). `parts` are what happened in it, in order, each
 * with a `kind`: text, thinking, tool, plan, permission, compacted. `recalled` and `learned` are null as long as nobody has told.
 */
export const newTurn = (run, more = {}) => ({
  run,
  text: '',
  at: null,
  speaker: null,
  model: null,
  state: 'waiting',
  stop: null,
  error: null,
  usage: null,
  recalled: null,
  learned: null,
  parts: [],
  isTorn: false,
  ...more,
});

export const isOver = (turn) => !RUNNING.has(turn.state);

/** What the agent said in a turn, whole. */
export const replyOf = (turn) =>
  turn.parts
    .filter(({ kind }) => kind === 'text')
    .map(({ text }) => text)
    .join('\n\n');

/** The turns that these messages are of. */
export function turnsOf(messages) {
  const turns = [];
  const byRun = new Map();
  for (const message of messages) {
    let turn = message.run ? byRun.get(message.run) : continued(turns.at(-1), message);
    if (!turn) {
      turn = newTurn(message.run ?? null, { state: 'kept', at: message.at });
      turns.push(turn);
      if (message.run) byRun.set(message.run, turn);
    }
    addMessage(turn, message);
  }
  return turns;
}

/** What belongs to no run belongs to what was said before, unless a person says something. */
const continued = (last, message) => (last && !last.run && message.role !== 'user' ? last : null);

function addMessage(turn, { role, kind, text, data = {}, call, speaker, at }) {
  if (role === 'user') {
    Object.assign(turn, { text: turn.text ? `${turn.text}\n\n${text}` : text, speaker, at: turn.at ?? at });
  } else if (kind === 'text') {
    turn.parts.push({ kind, text });
    if (data.partial) turn.state = 'cancelled';
  } else if (kind === 'thinking') turn.parts.push({ kind, text });
  else if (kind === 'tool_call') {
    turn.parts.push(toolPart({ call, tool: data.tool, kind: data.kind, title: text, arguments: data.arguments }));
    if (data.tool === 'todo' && Array.isArray(data.arguments?.entries)) setPlan(turn, data.arguments.entries);
  } else if (kind === 'tool_result') endTool(turn, { call, text, failed: data.failed, diff: data.diff });
}

const toolPart = ({ call, tool, kind, title, arguments: given }) => ({
  kind: 'tool',
  call,
  tool: tool ?? '',
  does: kind ?? 'other',
  title: title ?? tool ?? '',
  arguments: given ?? {},
  result: null,
});

function endTool(turn, { call, text, failed, diff }) {
  const part = turn.parts.findLast((one) => one.kind === 'tool' && one.call === call);
  if (part) part.result = { text: text ?? '', failed: Boolean(failed), diff: diff ?? null };
}

/** A plan stands where it was first made, and changes there. */
function setPlan(turn, entries) {
  const part = turn.parts.find(({ kind }) => kind === 'plan');
  const steps = entries.map((entry) => ({ text: String(entry?.text ?? ''), status: String(entry?.status ?? 'pending') }));
  if (part) part.entries = steps;
  else turn.parts.push({ kind: 'plan', entries: steps });
}

function addText(turn, kind, text) {
  const last = turn.parts.at(-1);
  if (last?.kind === kind) last.text += text;
  else turn.parts.push({ kind, text });
}

/** A conversation as far as it is known. */
export class Talk {
  turns = [];
  #playing = null;
  #unlearned = []; // turns that have ended, and whose lessons nobody has told yet, in their order

  get playing() {
    return this.#playing;
  }

  get waiting() {
    return this.turns.filter(({ state }) => state === 'waiting');
  }

  /** What is kept takes the place of what was known, but for what waits. */
  read(messages) {
    const kept = turnsOf(messages);
    const runs = new Set(kept.map(({ run }) => run));
    this.turns = [...kept, ...this.waiting.filter(({ run }) => !runs.has(run))];
    this.#playing = null;
    this.#unlearned = [];
  }

  /** What this person said, which waits for its turn. One that has begun already is left as it is. */
  say(run, text, at) {
    const known = this.find(run);
    if (known) return known;
    const turn = newTurn(run, { text, at });
    this.turns.push(turn);
    return turn;
  }

  withdraw(run) {
    this.turns = this.turns.filter((turn) => turn.run !== run || turn.state !== 'waiting');
  }

  find(run) {
    return this.turns.findLast((turn) => turn.run === run) ?? null;
  }

  /** What waits for its turn, as the daemon has it: what it knows nothing of is not said any more. */
  queue(prompts) {
    const waiting = prompts.filter(({ state }) => state === 'queued');
    const runs = new Set(waiting.map(({ run }) => run));
    this.turns = this.turns.filter(({ run, state }) => state !== 'waiting' || runs.has(run));
    for (const prompt of waiting) this.#queue(prompt, prompt.at);
  }

  #queue({ run, text, speaker }, at) {
    const turn = this.say(run, text, at);
    turn.speaker ??= speaker;
    return turn;
  }

  /** Take in an event. Answers the turn it is about; null if it is about none. `isTorn`: the beginning of it was missed. */
  hear(type, data, at = null) {
    if (type === 'turn_started') return this.#start(data, at);
    if (type === 'memory_learned') return this.#learn(data);
    if (type === 'prompt_queued') return this.#queue(data, at);
    if (type === 'prompt_withdrawn') {
      const turn = this.find(data.run);
      this.withdraw(data.run);
      return turn;
    }
    if (type === 'mode_changed' || type === 'model_changed') return this.#note(type, data);
    // What the workspace and the stream itself tell is of no turn.
    if (!Object.hasOwn(APPLY, type)) return null;
    const turn = (data.run && this.find(data.run)) || this.#playing || this.#torn();
    if (!turn) return null;
    APPLY[type](turn, data);
    if (type === 'turn_ended' || type === 'turn_failed') this.#end(turn);
    return turn;
  }

  /** A request that waits for an answer, and of which no event told. */
  ask(request) {
    const turn = this.#playing ?? this.#torn();
    if (turn && !turn.parts.some((part) => part.request?.id === request.id)) APPLY.permission_asked(turn, { request });
    return turn;
  }

  #start({ run, text, model, speaker }, at) {
    let turn = this.find(run);
    if (!turn) {
      turn = newTurn(run, { at });
      const first = this.turns.findIndex(({ state }) => state === 'waiting');
      this.turns.splice(first < 0 ? this.turns.length : first, 0, turn);
    }
    this.#unlearned = this.#unlearned.filter((one) => one !== turn);
    Object.assign(turn, newTurn(run, { text, model, speaker, at: turn.at ?? at, state: 'running' }));
    this.#playing = turn;
    return turn;
  }

  /** Of the session, and told where it happened: in the turn that is played, or behind the last one. */
  #note(type, data) {
    const turn = this.#playing ?? this.turns.findLast(({ state }) => state !== 'waiting') ?? null;
    turn?.parts.push({ kind: 'note', type, data });
    return turn;
  }

  /** Something happens in a turn whose beginning was missed: it is the last that was said. */
  #torn() {
    const turn = this.turns.findLast(({ state }) => state !== 'waiting') ?? null;
    if (turn?.state !== 'kept') return null;
    this.#playing = Object.assign(turn, { state: 'running', isTorn: true });
    return turn;
  }

  #end(turn) {
    for (const part of turn.parts) if (part.kind === 'permission' && !part.answer) part.isOver = true;
    if (this.#playing === turn) this.#playing = null;
    if (turn.state === 'ended') this.#unlearned.push(turn);
  }

  #learn({ memories = [] }) {
    const turn = this.#unlearned.shift() ?? null;
    if (turn) turn.learned = memories;
    return turn;
  }
}

const asked = (turn, id) => turn.parts.find((part) => part.kind === 'permission' && part.request.id === id);

const APPLY = {
  memory_recalled: (turn, { memories = [], block = '', failed = null }) => {
    turn.recalled = { memories: memories.filter(isRecalled), block, failed };
  },
  text: (turn, { text }) => addText(turn, 'text', text),
  thinking: (turn, { text }) => addText(turn, 'thinking', text),
  tool_started: (turn, data) => turn.parts.push(toolPart(data)),
  tool_ended: endTool,
  plan: (turn, { entries = [] }) => setPlan(turn, entries),
  permission_asked: (turn, { request }) =>
    turn.parts.push({ kind: 'permission', request, answer: null, isOver: false, count: null, voters: [], refused: [] }),
  permission_answered: (turn, { answer }) => {
    const part = asked(turn, answer.request);
    if (part) part.answer = answer;
  },
  permission_voted: (turn, { request, votes, needed, quorum, voter }) => {
    const part = asked(turn, request);
    if (part) Object.assign(part, { count: { votes, needed, quorum }, voters: [...part.voters, voter] });
  },
  permission_vote_refused: (turn, { request, voter, reason }) => {
    const part = asked(turn, request);
    if (part) part.refused = [...part.refused.filter((one) => one.voter !== voter), { voter, reason }];
  },
  history_compacted: (turn, { messages, by }) => turn.parts.push({ kind: 'compacted', messages, by }),
  turn_ended: (turn, { reply = '', stop_reason: stop, usage = null }) => {
    if (reply.trim() && !replyOf(turn).trim()) turn.parts.push({ kind: 'text', text: reply });
    Object.assign(turn, { stop, usage, state: stop === 'cancelled' ? 'cancelled' : 'ended' });
  },
  turn_failed: (turn, { code, message, usage = null }) => Object.assign(turn, { state: 'failed', error: { code, message }, usage }),
};

/** What the session itself said is no news to whoever reads it. */
export const isRecalled = (memory) => memory.why !== 'current session';
