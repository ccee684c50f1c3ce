// What a record is called. Pure.

const MARKDOWN = /\.(?:md|markdown|mdx)$/i;

const FOLLOWS_FILE = new Set(['file', 'managed']);

/** The path of the file that a record follows, in its folder, or null. */
export const filePath = (record) => (FOLLOWS_FILE.has(record.source) ? record.provenance?.file || null : null);

/** A record that follows a file is called by the file's own name, anything else by its key; null: it has none. */
export const titleOf = (record) => filePath(record)?.split('/').at(-1) || (record.key ?? null);

/** The folder of an imported file, with its slash; empty at the top. */
export const folderOf = (record) => filePath(record)?.replace(/[^/]*$/, '') ?? '';

/** Whether the text may be Markdown: code and JSON that were imported are not. */
export const mayBeMarkdown = (record) => filePath(record) === null || MARKDOWN.test(filePath(record));
