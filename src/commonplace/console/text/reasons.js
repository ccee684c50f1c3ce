// Why a memory was recalled, out of the line that the daemon writes: "words +6.48 meaning:static-256 +4.40 (releas, go)". Pure.

const PART = /^([a-z]+)(?::[^\s]*)?$/;
const MEANT = new Set(['words', 'meaning', 'neighbours', 'session', 'recency', 'pin', 'importance']);
const LEAST = 0.1; // of the strongest: what counts for less is no reason

/** The names of the parts that count, the strongest first; [] where the line is none of these. */
export function reasonsOf(why) {
  const pieces = String(why ?? '')
    .split(' (')[0]
    .split(' ');
  const sums = new Map();
  for (let at = 0; at + 1 < pieces.length; at += 2) {
    const name = PART.exec(pieces[at])?.[1];
    const value = Number(pieces[at + 1]);
    if (!name || !Number.isFinite(value)) return [];
    if (MEANT.has(name) && value > 0) sums.set(name, (sums.get(name) ?? 0) + value);
  }
  const most = Math.max(0, ...sums.values());
  return [...sums]
    .filter(([, value]) => value >= LEAST * most)
    .sort(([, one], [, other]) => other - one)
    .map(([name]) => name);
}
