// Two versions of one file: what each says, where they differ, and what to do about it.

import { fresh, h, plain } from '../../dom.js';
import { differences } from '../../parts/differences.js';
import { t } from '../../words.js';

const MOST_SHOWN = 20_000;

/** `theirs` is { text, etag }, both null where the file is gone. */
export function conflict({ mine, theirs, onMine, onTheirs, onMerge }) {
  const id = fresh('conflict');
  const gone = theirs.etag === null;
  const button = (label, act, kind = '') => h('button', { type: 'button', class: kind, on: { click: act } }, label);
  return h(
    'section',
    { 'class': 'learning-conflict', 'aria-labelledby': id },
    h('h3', { id, tabindex: '-1' }, t('learning.conflict')),
    h('p', {}, t(gone ? 'learning.conflict.gone' : 'learning.conflict.lead')),
    !gone && [
      h('h4', {}, t('learning.conflict.differences')),
      h(
        'div',
        { 'class': 'conflict', 'tabindex': '0', 'role': 'region', 'aria-label': t('learning.conflict.differences') },
        differences(theirs.text, mine),
      ),
      h('details', {}, h('summary', {}, t('learning.conflict.theirs')), h('pre', { tabindex: '0' }, plain(theirs.text, MOST_SHOWN))),
      h('details', {}, h('summary', {}, t('learning.conflict.yours')), h('pre', { tabindex: '0' }, plain(mine, MOST_SHOWN))),
    ],
    h(
      'div',
      { class: 'row' },
      !gone && button(t('learning.conflict.merge'), onMerge, 'primary'),
      button(t(gone ? 'learning.conflict.create' : 'learning.conflict.mine'), onMine),
      button(t(gone ? 'learning.conflict.leave' : 'learning.conflict.take'), onTheirs),
    ),
  );
}
