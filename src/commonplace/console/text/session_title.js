// What a session is called. Pure.

/** Its title, else `untitled`. */
export const titleOf = ({ title }, untitled) => title?.trim() || untitled;
