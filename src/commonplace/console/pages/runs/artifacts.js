// Files that runs made, or that somebody put here. No search finds one until it is promoted into the memory.

import { Problem, ask, get, post, remove } from '../../api.js';
import { fill, h, plain } from '../../dom.js';
import { time } from '../../parts/badge.js';
import { confirm } from '../../parts/dialog.js';
import { field, form } from '../../parts/form.js';
import { picker } from '../../parts/picker.js';
import { toast } from '../../parts/toast.js';
import { errorNotice, showError } from '../../problems.js';
import { address, go } from '../../router.js';
import { may } from '../../session.js';
import { size, t } from '../../words.js';

const PAGE = 100;
const pathOf = (id, more = '') => `/v1/artifacts/${encodeURIComponent(id)}${more}`;

/** The artifacts of a run, or all of this person's. */
export async function artifactsOf(place, { run = '' }, signal) {
  const list = new ArtifactList(run, signal);
  fill(place, h('p', { class: 'soft' }, t('runs.artifacts.lead')), may('writer') && list.upload, list.element, list.more);
  await list.load();
}

class ArtifactList {
  element = h('div', {}, h('p', { class: 'soft' }, t('frame.loading')));
  more = h('button', { type: 'button', hidden: true, on: { click: () => this.#load() } }, t('frame.more'));
  upload;
  #run;
  #signal;
  #cursor = null;
  #held = [];

  constructor(run, signal) {
    this.#run = run;
    this.#signal = signal;
    const file = h('input', { type: 'file', on: { change: () => this.#send(file) } });
    this.upload = field(t('runs.upload'), file);
  }

  load() {
    this.#cursor = null;
    this.#held = [];
    return this.#load();
  }

  async #load() {
    try {
      const page = await get('/v1/artifacts', { run: this.#run, limit: PAGE, cursor: this.#cursor }, { signal: this.#signal });
      this.#cursor = page.cursor;
      this.#held = [...this.#held, ...page.artifacts];
      this.#paint();
    } catch (error) {
      if (error.name !== 'AbortError') fill(this.element, h('p', { class: 'notice', role: 'alert' }, errorNotice(error)));
    }
  }

  async #send(input) {
    const [file] = input.files;
    if (!file) return;
    try {
      const type = file.type || 'application/octet-stream';
      await ask('POST', '/v1/artifacts', {
        query: { name: file.name, run: this.#run },
        body: file,
        headers: { 'Content-Type': type },
        signal: this.#signal,
      });
      toast(t('runs.uploaded', { name: file.name }));
      await this.load();
    } catch (error) {
      showError(error);
    } finally {
      input.value = '';
    }
  }

  #paint() {
    this.more.hidden = this.#cursor === null;
    fill(
      this.element,
      this.#held.length
        ? h(
            'ul',
            { 'class': 'artifact-list', 'aria-label': t('runs.artifacts') },
            this.#held.map((one) => this.#row(one)),
          )
        : h('p', { class: 'notice' }, t(this.#run ? 'runs.artifacts.none-of-run' : 'runs.artifacts.none')),
    );
  }

  #row(artifact) {
    const click = (label, act, kind = '') => h('button', { type: 'button', class: `small ${kind}`, on: { click: act } }, label);
    return h(
      'li',
      {},
      h('strong', { class: 'artifact-name' }, plain(artifact.name, 255)),
      h(
        'div',
        { class: 'row small soft' },
        h('span', { class: 'mono' }, plain(artifact.type, 120)),
        h('span', {}, size(artifact.size)),
        time(artifact.created_at),
        artifact.expires_at && h('span', {}, t('runs.expires'), ' ', time(artifact.expires_at)),
        artifact.run && artifact.run !== this.#run && h('a', { href: address('runs', artifact.run) }, t('runs.its-run')),
        artifact.record && h('a', { href: address('record', artifact.record) }, t('runs.promoted')),
        h('span', { class: 'grow' }),
        h('a', { class: 'button small', href: pathOf(artifact.id, '/content'), download: '' }, t('runs.download')),
        may('writer') && click(t('runs.promote'), () => this.#promote(artifact)),
        may('writer') && click(t('frame.delete'), () => this.#delete(artifact), 'quiet'),
      ),
    );
  }

  async #promote(artifact) {
    const scope = picker({ all: false, anew: true, label: t('frame.scope'), signal: this.#signal });
    const key = h('input', { maxlength: 255, autocomplete: 'off', class: 'mono' });
    const content = [
      h('p', {}, t('runs.promote.text', { name: artifact.name })),
      h('div', { class: 'field' }, h('span', {}, t('frame.scope')), scope),
      field(t('runs.promote.key'), key, t('runs.promote.key.hint')),
    ];
    const act = async () => {
      if (!scope.scope) throw new Problem(0, 'no_scope', t('frame.scope.choose'));
      return post(pathOf(artifact.id, '/promote'), { scope: scope.scope, key: key.value.trim() || null });
    };
    const record = await form(t('runs.promote'), content, { label: t('runs.promote'), act, focus: scope.querySelector('input') });
    if (!record) return;
    toast(t('runs.promoted.done'), { action: { label: t('frame.quarantined.open'), act: () => go('record', record.id) } });
    await this.load();
  }

  async #delete(artifact) {
    const text = t('runs.artifact.delete.text', { name: artifact.name });
    if (!(await confirm(t('runs.artifact.delete'), text, { label: t('frame.delete'), danger: true }))) return;
    try {
      await remove(pathOf(artifact.id), {}, { signal: this.#signal });
      toast(t('runs.artifact.deleted', { name: artifact.name }));
      await this.load();
    } catch (error) {
      showError(error);
    }
  }
}
