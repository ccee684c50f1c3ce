// Charts as SVG: stacked bars over days, lines over time, bars by name. Each says in words what it shows, and has its figures in a
// table for whoever cannot see it. They are drawn anew when their width changes, so text keeps its size.

import { fill, fresh, h, svg } from '../dom.js';
import { number } from '../words.js';

const COLOURS = ['--c1', '--c2', '--c3', '--c4', '--c5', '--c6', '--c7', '--c8'];
export const colour = (index) => `var(${COLOURS[index % COLOURS.length]})`;
/** Room for the words beside the steps. */
const beside = (steps, format) => 14 + 7 * Math.max(3, ...steps.map((step) => format(step).length));

const WIDEST = 56;
const BOTTOM = 22;
const TOP = 8;

/** Round steps from 0 to at least `most`: three to six of them, whole ones where `whole`. */
export function ticks(most, whole = true) {
  if (!(most > 0)) return [0, 1];
  const rough = most / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  let step = [1, 2, 2.5, 5, 10].map((one) => one * power).find((one) => one >= rough);
  if (whole) step = Math.max(1, Math.ceil(step));
  const made = [];
  for (let at = 0; ; at += step) {
    made.push(Number(at.toPrecision(12)));
    if (at >= most) return made;
  }
}

const DAY = 86_400_000;
const written = (ms) => new Date(ms).toISOString().slice(0, 10);

/**
 * From counts [{ day, name, records }] to what `stacked` draws: every day from the first to the last has a column, also one on which
 * nothing was written; from `weekly` days on a column is a week. The `most` greatest names have a series, the others share one.
 */
export function columns(counts, { most = 7, others = '…', weekly = 120, today = written(Date.now()) } = {}) {
  if (!counts.length) return { days: [], series: [], step: 1 };
  const totals = new Map();
  for (const { name, records } of counts) totals.set(name, (totals.get(name) ?? 0) + records);
  const names = [...totals.keys()].sort((one, other) => totals.get(other) - totals.get(one));
  const kept = new Map(names.slice(0, most).map((name, index) => [name, index]));
  const first = Date.parse(counts.reduce((least, one) => (one.day < least ? one.day : least), counts[0].day));
  const last = Math.max(Date.parse(today), ...counts.map((one) => Date.parse(one.day)));
  const step = (last - first) / DAY + 1 > weekly ? 7 : 1;
  const length = Math.floor((last - first) / DAY / step) + 1;
  const days = Array.from({ length }, (_, index) => written(first + index * step * DAY));
  const series = [...kept.keys()].map((name) => ({ name, values: new Array(length).fill(0) }));
  if (names.length > most) series.push({ name: others, values: new Array(length).fill(0) });
  for (const { day, name, records } of counts) {
    series[kept.get(name) ?? most].values[Math.floor((Date.parse(day) - first) / DAY / step)] += records;
  }
  return { days, series, step };
}

/** Stacked columns. `days` name the columns, `series`: [{ name, values, tint }]. */
export function stacked({ label, days, series, format = number, height = 220, day = (one) => one }) {
  const totals = days.map((_, index) => series.reduce((sum, one) => sum + one.values[index], 0));
  const steps = ticks(Math.max(0, ...totals));
  const tints = series.map((one, index) => one.tint ?? colour(index));
  const draw = (width) => {
    const { y, made, left } = ground(width, height, steps, format);
    const wide = Math.min(WIDEST, (width - left) / Math.max(1, days.length));
    days.forEach((one, index) => {
      let below = 0;
      series.forEach(({ name, values }, row) => {
        if (!values[index]) return;
        const top = y(below + values[index]);
        made.append(
          svg(
            'rect',
            {
              x: left + index * wide + (wide > 3 ? 1 : 0),
              y: top,
              width: Math.max(0.5, wide - (wide > 3 ? 2 : 0)),
              height: Math.max(0.5, y(below) - top),
              class: 'drawn',
              style: { fill: tints[row] },
            },
            svg('title', {}, `${day(one)} · ${name}: ${format(values[index])}`),
          ),
        );
        below += values[index];
      });
    });
    made.append(...under(days.map(day), { width, height, wide, left }));
    return made;
  };
  const rows = days
    .map((one, index) => [day(one), ...series.map(({ values }) => format(values[index]))])
    .filter((_, index) => totals[index]);
  const names = series.map((one) => one.name);
  return figure({ label, draw, height, legend: names, tints, head: ['', ...names], rows });
}

/** Lines over time. `points`: [{ at, values: [..] }], a value for each of `names`. */
export function lines({ label, points, names, format = number, height = 200, at = (one) => one, whole = false }) {
  const steps = ticks(Math.max(0, ...points.flatMap((one) => one.values)), whole);
  const draw = (width) => {
    const { y, made, left } = ground(width, height, steps, format);
    const first = Date.parse(points[0]?.at ?? 0);
    const span = Math.max(1, Date.parse(points.at(-1)?.at ?? 0) - first);
    const x = (one) => left + 6 + ((Date.parse(one.at) - first) / span) * (width - left - 12);
    names.forEach((name, row) => {
      const path = points.map((one, index) => `${index ? 'L' : 'M'}${x(one).toFixed(1)} ${y(one.values[row]).toFixed(1)}`).join('');
      made.append(
        svg('path', { 'd': path, 'class': 'drawn-line', 'style': { stroke: colour(row) }, 'stroke-dasharray': row ? '5 3' : null }),
      );
      for (const one of points) {
        made.append(
          svg(
            'circle',
            { cx: x(one), cy: y(one.values[row]), r: 2.5, class: 'drawn', style: { fill: colour(row) } },
            svg('title', {}, `${at(one.at)} · ${name}: ${format(one.values[row])}`),
          ),
        );
      }
    });
    if (points.length) made.append(svg('text', { x: left, y: height - 6 }, at(points[0].at)));
    if (points.length > 1) made.append(svg('text', { 'x': width, 'y': height - 6, 'text-anchor': 'end' }, at(points.at(-1).at)));
    return made;
  };
  return figure({
    label,
    draw,
    height,
    legend: names,
    tints: names.map((_, index) => colour(index)),
    head: ['', ...names],
    rows: points.map((one) => [at(one.at), ...one.values.map(format)]),
  });
}

/** Bars by name, the longest first. `rows`: [{ name, value, href, badge }]. */
export function bars({ label, rows, format = number, tint = 0 }) {
  const most = Math.max(1, ...rows.map((one) => one.value));
  return h(
    'table',
    { class: 'chart-bars' },
    h('caption', { class: 'visually-hidden' }, label),
    h(
      'tbody',
      {},
      rows.map((one) =>
        h(
          'tr',
          {},
          h(
            'th',
            { scope: 'row' },
            one.badge ?? (one.href ? h('a', { href: one.href, class: 'mono' }, one.name) : h('span', { class: 'mono' }, one.name)),
          ),
          h(
            'td',
            {},
            svg(
              'svg',
              { 'class': 'chart-bar', 'aria-hidden': 'true', 'height': 14, 'width': '100%' },
              svg('rect', {
                x: 0,
                y: 0,
                height: 14,
                rx: 3,
                width: `${Math.max(0.4, (one.value / most) * 100)}%`,
                style: { fill: colour(tint) },
              }),
            ),
          ),
          h('td', { class: 'number' }, format(one.value)),
        ),
      ),
    ),
  );
}

// ---- what they have in common

function ground(width, height, steps, format) {
  const most = steps.at(-1);
  const left = beside(steps, format);
  const y = (value) => TOP + (height - TOP - BOTTOM) * (1 - value / most);
  const made = svg('svg', { width, height, 'viewBox': `0 0 ${width} ${height}`, 'aria-hidden': 'true', 'class': 'chart' });
  for (const step of steps) {
    made.append(
      svg('line', { x1: left, x2: width, y1: y(step), y2: y(step), class: 'chart-line' }),
      svg('text', { 'x': left - 6, 'y': y(step) + 4, 'text-anchor': 'end' }, format(step)),
    );
  }
  return { y, made, left };
}

/** Names below the columns, as many as there is room for. */
function under(names, { width, height, wide, left }) {
  const made = [];
  let end = -Infinity;
  names.forEach((name, index) => {
    // Letters of 12 px are some 7 wide, Chinese ones 12.
    const long = [...name].reduce((sum, letter) => sum + (letter > '\u2e7f' ? 12 : 7), 0);
    const begin = Math.max(left, left + index * wide + wide / 2 - long / 2);
    if (begin < end + 12 || begin + long > width) return;
    end = begin + long;
    made.push(svg('text', { x: begin, y: height - 6 }, name));
  });
  return made;
}

function figure({ label, draw, height, legend, tints, head, rows }) {
  const id = fresh('chart');
  const box = h('div', { class: 'chart-box', style: { height: `${height}px` } });
  const table = h(
    'table',
    {},
    h('caption', {}, label),
    h(
      'thead',
      {},
      h(
        'tr',
        {},
        head.map((one) => h('th', { scope: 'col' }, one || '\u00a0')),
      ),
    ),
    h(
      'tbody',
      {},
      rows.slice(-400).map(([first, ...rest]) =>
        h(
          'tr',
          {},
          h('th', { scope: 'row' }, first),
          rest.map((one) => h('td', {}, one)),
        ),
      ),
    ),
  );
  const made = h(
    'figure',
    { 'class': 'chart-figure', 'aria-labelledby': id },
    h('figcaption', { id }, label),
    box,
    h(
      'ul',
      { class: 'legend' },
      legend.map((name, index) => h('li', {}, h('span', { class: 'swatch', style: { background: tints[index] } }), name)),
    ),
    // A table is as wide as its figures, whatever it is told: what hides it is a box around it.
    h('div', { class: 'visually-hidden' }, table),
  );
  let drawn = 0;
  new ResizeObserver(([entry]) => {
    const width = Math.floor(entry.contentRect.width);
    if (width && width !== drawn) {
      drawn = width;
      fill(box, draw(width));
    }
  }).observe(box);
  return made;
}
