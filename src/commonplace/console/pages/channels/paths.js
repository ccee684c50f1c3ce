// Where channels are, what they are called in the two languages, and who may change them.

import { h } from '../../dom.js';
import { may, whoami } from '../../session.js';
import { language } from '../../words.js';

export const CHANNELS = '/v1/channels';
export const LINKS = '/v1/sender-links';
/** Whose rooms are our own. */
export const LOCAL = ['web', 'terminal'];

export const channelPath = (name, more = '') => `${CHANNELS}/${encodeURIComponent(name)}${more}`;

/** Channels are the whole tenant's: a key that reaches a part of it does not govern them. */
export const governs = () => may('admin') && whoami().scopes === null;

/** A sentence that the daemon has in both languages. */
export const said = (sentence) => sentence?.[language] ?? '';

/** The same with what stands between backticks as code. */
export const prose = (text) => text.split('`').map((part, index) => (index % 2 ? h('code', {}, part) : part));

export const titleOf = (kinds, kind) => said(kinds.find(({ guide }) => guide.kind === kind)?.guide.title) || kind;
