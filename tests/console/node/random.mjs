// Numbers that are the same on every run (mulberry32): `next(below)` is one from 0 up to, not including, `below`.

export function numbers(seed) {
  let state = seed;
  return function next(below) {
    state = (state + 0x6d2b79f5) | 0;
    let value = Math.imul(state ^ (state >>> 15), state | 1);
    value ^= value + Math.imul(value ^ (value >>> 7), value | 61);
    return ((value ^ (value >>> 14)) >>> 0) % below;
  };
}
