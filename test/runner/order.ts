import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';

// What is begun last should be short, so that no process waits long for another at the end. How long a file took on this machine is kept
// beside what npm has installed; before its first run the length of its text is the best guess.

const kept = 'node_modules/.cache/test-times.json';
const bytesASecond = 2_000;

export type Times = Record<string, number>;

const readTimes = (): Times => (existsSync(kept) ? JSON.parse(readFileSync(kept, 'utf8')) : {});

export const keepTimes = (times: Times) => writeFileSync(kept, JSON.stringify({ ...readTimes(), ...times }));

export function longestFirst(files: string[]): string[] {
  const times = readTimes();
  const expected = new Map(files.map((file) => [file, times[file] ?? (statSync(file).size / bytesASecond) * 1000]));
  return files.toSorted((a, b) => expected.get(b)! - expected.get(a)!);
}
