// What a record is called. Pure.

const MARKDOWN = /\.(?:md|markdown|mdx)$/i;

/** The path that an imported file had in its folder, or null. */
export const filePath = (record) => (record.source === 'file' ? record.provenance?.file || null : null);

/** An imported file is called by its own name, anything else by its key; null: it has none. */
export const titleOf = (record) => filePath(record)?.split('/').at(-1) || (record.key ?? null);

/** The folder of an imported file, with its slash; empty at the top. */
export const folderOf = (record) => filePath(record)?.replace(/[^/]*$/, '') ?? '';

/** Whether the text may be Markdown: code and JSON that were imported are not. */
export const mayBeMarkdown = (record) => filePath(record) === null || MARKDOWN.test(filePath(record));
