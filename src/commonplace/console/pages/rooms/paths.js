// Where the rooms of the web are.

export const ROOMS = '/v1/channels/web/rooms';

export const roomPath = (id, more = '') => `${ROOMS}/${encodeURIComponent(id)}${more}`;

/** What the memory calls a room. */
export const roomScope = (id) => `channel:web/${id}`;
