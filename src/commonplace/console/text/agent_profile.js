// How an agent is set up, between the form and the daemon. Pure.

// What an agent may be allowed, in the order of the form. Servers and skills bring others.
export const TOOLS = [
  'memory_search',
  'memory_store',
  'memory_correct',
  'memory_list',
  'memory_delete',
  'session_search',
  'schedule_task',
  'schedule_list',
  'schedule_cancel',
  'memory',
  'todo',
  'read_file',
  'list_folder',
  'glob',
  'grep',
  'write_file',
  'edit_file',
  'shell',
  'fetch',
];

// The strictest first.
export const MODES = ['plan', 'default', 'auto-edit', 'yolo'];

export const NEW = { persona: '', model: null, skills: [], resources: [], tools: null, mcp_servers: [], approval: 'default' };

/** The lines of a field, without empty ones. */
export const linesOf = (text) =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean);

/** Names that are parted by commas, spaces or lines. */
export const namesOf = (text) => text.split(/[\s,]+/).filter(Boolean);

/** The modes that this person may choose: only an admin lets an agent do more than it did. */
export const modesFor = (profile, isAdmin) => (isAdmin ? MODES : MODES.slice(0, MODES.indexOf(profile.approval) + 1));

/** Whether this person may allow a tool: only an admin allows one that was not allowed. */
export const mayAllow = (profile, tool, isAdmin) => isAdmin || profile.tools === null || profile.tools.includes(tool);

/** The servers as somebody wrote them. Throws a SyntaxError, or a TypeError if it is no list. */
export function serversOf(text) {
  if (!text.trim()) return [];
  const servers = JSON.parse(text);
  if (!Array.isArray(servers)) throw new TypeError('no list');
  return servers;
}

export const serversWritten = (servers) => (servers.length ? JSON.stringify(servers, null, 2) : '');
