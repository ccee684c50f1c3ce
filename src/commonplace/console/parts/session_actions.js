// What can be done with a session: rename it, put it away, delete it. The words are those of the sessions.

import { patch, remove } from '../api.js';
import { h } from '../dom.js';
import { showError } from '../problems.js';
import { titleOf } from '../text/session_title.js';
import { t } from '../words.js';
import { sessionPath } from './conversation.js';
import { confirm } from './dialog.js';
import { field, form } from './form.js';
import { toast } from './toast.js';

const LONGEST_TITLE = 200;

/** The session under its new name, or null where the person thought better of it. */
export function rename(session) {
  const title = h('input', { required: true, maxlength: LONGEST_TITLE, autocomplete: 'off', value: session.title ?? '' });
  const act = () => patch(sessionPath(session.id), { title: title.value.trim() });
  return form(t('sessions.rename'), field(t('sessions.title'), title), { label: t('frame.save'), act, focus: title });
}

/** The session put away, or brought back; null if that failed. */
export async function archive(session) {
  const archived = !session.archived_at;
  try {
    const changed = await patch(sessionPath(session.id), { archived });
    toast(t(archived ? 'sessions.archived' : 'sessions.restored'));
    return changed;
  } catch (error) {
    showError(error);
    return null;
  }
}

/** The session shared with whoever reaches its workspace, or no longer; null if nothing was changed. */
export async function share(session) {
  const shared = !session.shared;
  const text = t('sessions.share.text', { workspace: session.workspace });
  if (shared && (await confirm(t('sessions.share'), text, { label: t('sessions.share') })) === null) return null;
  try {
    const changed = await patch(sessionPath(session.id), { shared });
    toast(t(shared ? 'sessions.is-shared' : 'sessions.is-private'));
    return changed;
  } catch (error) {
    showError(error);
    return null;
  }
}

/** Whether it is gone. */
export async function discard(session) {
  const text = t('sessions.delete.text', { title: titleOf(session, t('chat.untitled')) });
  if (!(await confirm(t('sessions.delete'), text, { label: t('frame.delete'), danger: true }))) return false;
  try {
    const { messages } = await remove(sessionPath(session.id));
    toast(t('sessions.deleted', messages));
    return true;
  } catch (error) {
    showError(error);
    return false;
  }
}
