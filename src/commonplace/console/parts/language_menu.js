// A menu of the languages; choosing one loads the page anew.

import { h } from '../dom.js';
import { LANGUAGES, language, speak, t } from '../words.js';

export const languageMenu = () =>
  h(
    'select',
    { 'aria-label': t('frame.language'), 'value': language, 'on': { change: (event) => speak(event.target.value) } },
    Object.entries(LANGUAGES).map(([code, name]) => h('option', { value: code }, name)),
  );
