const digits = (value: number) => value.toFixed(value < 100 ? 2 : 0);

export function figure(what: string, value: number, unit: string, target = '', met?: boolean) {
  const verdict = met === undefined ? '' : met ? 'met' : 'MISSED';
  console.log(`${what.padEnd(66)} ${digits(value).padStart(9)} ${unit.padEnd(9)} ${target.padEnd(10)} ${verdict}`);
  if (met === false) process.exitCode = 1;
}

/** The median of several runs, and from where to where they reach. */
export function spread(what: string, values: readonly number[], unit: string, target = '', isMet?: (median: number) => boolean) {
  const median = quantile(values, 0.5);
  figure(what, median, `${unit} ${digits(Math.min(...values))}–${digits(Math.max(...values))}`, target, isMet?.(median));
}

const ascending = (a: number, b: number) => a - b;

/** The value below which this share of them lies. */
export const quantile = (values: readonly number[], share: number): number => {
  const sorted = [...values].sort(ascending);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
};
