// US dollars as people write them.

import { language } from '../words.js';

const money = (digits) =>
  new Intl.NumberFormat(language === 'zh' ? 'zh-CN' : 'en-GB', {
    style: 'currency',
    currency: 'USD',
    currencyDisplay: 'narrowSymbol',
    maximumFractionDigits: digits,
  });
const dollars = money(2);
const fractions = money(6);

/** A task may cost less than a cent, and a cap may have any number of digits. */
export const usd = (value) => (Number(value.toFixed(2)) === value ? dollars : fractions).format(value);
