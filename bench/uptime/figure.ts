export function figure(what: string, value: number, unit: string, target = '', met?: boolean) {
  const verdict = met === undefined ? '' : met ? 'met' : 'MISSED';
  console.log(`${what.padEnd(66)} ${value.toFixed(value < 100 ? 2 : 0).padStart(9)} ${unit.padEnd(9)} ${target.padEnd(10)} ${verdict}`);
  if (met === false) process.exitCode = 1;
}

const ascending = (a: number, b: number) => a - b;

/** The value below which this share of them lies. */
export const quantile = (values: readonly number[], share: number): number => {
  const sorted = [...values].sort(ascending);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
};
