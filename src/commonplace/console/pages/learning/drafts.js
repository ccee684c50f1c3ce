// What somebody typed and has not saved. It outlives the page that it was typed on, until the browser leaves the console.

const held = new Map();

addEventListener('beforeunload', (event) => {
  if (held.size) event.preventDefault();
});

/** The drafts of whoever is signed in: nobody finds another one's. A draft is { text, base, etag }: what it began from, and which version that was. */
export function drafts(me) {
  const name = (root, path) => JSON.stringify([me.tenant, me.subject, me.key, root, path]);
  return {
    has: (root, path) => held.has(name(root, path)),
    get: (root, path) => held.get(name(root, path)) ?? null,
    keep: (root, path, draft) => held.set(name(root, path), draft),
    drop: (root, path) => held.delete(name(root, path)),
  };
}
