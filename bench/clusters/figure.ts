export function figure(what: string, value: number, unit: string, target = '', met?: boolean) {
  const verdict = met === undefined ? '' : met ? 'met' : 'MISSED';
  console.log(`${what.padEnd(66)} ${value.toFixed(value < 100 ? 2 : 0).padStart(9)} ${unit.padEnd(4)} ${target.padEnd(10)} ${verdict}`);
  if (met === false) process.exitCode = 1;
}

const sorted = (list: readonly number[]) => [...list].sort((a, b) => a - b);
export const at = (list: readonly number[], share: number) => sorted(list)[Math.max(0, Math.ceil(list.length * share) - 1)]!;
