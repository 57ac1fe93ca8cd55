// Pure.

/** The end of a scale that holds `value`: 1, 2 or 5 times a power of ten. */
export function roundMax(value: number): number {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((times) => times * power).find((end) => end >= value * 0.999) ?? 10 * power;
}

/** Two digits are enough for a path. */
export const round = (value: number): number => Math.round(value * 100) / 100;
