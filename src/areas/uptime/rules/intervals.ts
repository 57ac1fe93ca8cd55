const units = [
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
] as const;

/** `30 seconds`, `5 minutes`, `1 hour`; what is no whole number of a unit in the next smaller one. */
export function intervalLabel(seconds: number): string {
  const [unit, size] = units.find(([, each]) => seconds % each === 0)!;
  const count = seconds / size;
  return `${count} ${unit}${count === 1 ? '' : 's'}`;
}
