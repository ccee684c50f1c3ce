// What to paste so that an editor has this memory over MCP. Pure.

const json = (value) => JSON.stringify(value, null, 2);
const headers = (secret) => (secret ? { headers: { Authorization: `Bearer ${secret}` } } : {});

/** A word as a shell reads it whole. */
const quoted = (word) => `'${word.replaceAll("'", "'\\''")}'`;

export const EDITORS = {
  'claude-code': {
    name: 'Claude Code',
    write: (url, secret) =>
      [
        'claude mcp add --transport http commonplace',
        quoted(url),
        ...(secret ? ['--header', quoted(`Authorization: Bearer ${secret}`)] : []),
      ].join(' '),
  },
  'cursor': { name: 'Cursor', write: (url, secret) => json({ mcpServers: { commonplace: { url, ...headers(secret) } } }) },
  'zed': { name: 'Zed', write: (url, secret) => json({ context_servers: { commonplace: { url, ...headers(secret) } } }) },
  'qwen-code': { name: 'qwen-code', write: (url, secret) => json({ mcpServers: { commonplace: { httpUrl: url, ...headers(secret) } } }) },
};

/** For one of EDITORS; without a `secret` nothing is said about a key. */
export const snippetOf = (editor, { origin, project, secret }) =>
  EDITORS[editor].write(`${origin}/mcp${project ? `?project=${encodeURIComponent(project)}` : ''}`, secret);
