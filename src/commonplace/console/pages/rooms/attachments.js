// Files that go with the next message: chosen, dropped on the place where one writes, or pasted there. And those that came with one.

import { ask } from '../../api.js';
import { fill, h, plain } from '../../dom.js';
import { chooser } from '../../parts/files.js';
import { size, t } from '../../words.js';
import { roomPath } from './paths.js';

const MOST = 10; // of one message
const SCHEME = 'artifact://';

export class Attachments {
  element = h('ul', { 'class': 'room-files', 'aria-label': t('rooms.files'), 'hidden': true });
  button;
  #id;
  #files = []; // { file, uploaded }: the id of an artifact, once it is there

  /** Files dropped or pasted on `place` are taken, too. */
  constructor(id, place) {
    this.#id = id;
    this.button = chooser(t('rooms.attach'), { multiple: true }, (list) => this.#add(list));
    const take = (event, transfer) => {
      if (!transfer?.files.length) return;
      event.preventDefault();
      this.#add([...transfer.files]);
    };
    place.addEventListener('dragover', (event) => event.preventDefault());
    place.addEventListener('drop', (event) => take(event, event.dataTransfer));
    place.addEventListener('paste', (event) => take(event, event.clipboardData));
  }

  get some() {
    return this.#files.length > 0;
  }

  /** Bring them to the room; the ids that a message names them by. What was brought once is not brought again. */
  async upload(signal) {
    const ids = [];
    for (const one of this.#files) {
      const more = { query: { name: one.file.name }, body: one.file, headers: { 'Content-Type': 'application/octet-stream' }, signal };
      one.uploaded ??= (await ask('POST', roomPath(this.#id, '/files'), more)).id;
      ids.push(one.uploaded);
    }
    return ids;
  }

  /** They were said. */
  clear() {
    this.#files = [];
    this.#show();
  }

  #add(list) {
    this.#files = [...this.#files, ...list.map((file) => ({ file }))].slice(0, MOST);
    this.#show();
  }

  #show() {
    const row = (one) => {
      const click = () => {
        this.#files = this.#files.filter((other) => other !== one);
        this.#show();
      };
      const label = t('rooms.attach.drop', { name: one.file.name.slice(0, 80) });
      const drop = h('button', { 'type': 'button', 'class': 'quiet small', 'aria-label': label, 'on': { click } }, '×');
      return h('li', {}, plain(one.file.name, 80), ' ', h('small', { class: 'soft' }, size(one.file.size)), drop);
    };
    fill(this.element, this.#files.map(row));
    this.element.hidden = !this.some;
  }
}

/** The files of a message, to be fetched; null if it has none. */
export function filesOf(attachments) {
  if (!Array.isArray(attachments) || !attachments.length) return null;
  const row = ({ name, path, problem }) => {
    const id = path?.startsWith(SCHEME) ? path.slice(SCHEME.length) : null;
    if (id) return h('li', {}, h('a', { href: `/v1/artifacts/${encodeURIComponent(id)}/content`, download: '' }, plain(name, 120)));
    return h('li', {}, plain(name, 120), ' ', h('small', { class: 'soft' }, plain(problem ?? '', 200)));
  };
  return h('ul', { 'class': 'room-files', 'aria-label': t('rooms.files') }, attachments.map(row));
}
