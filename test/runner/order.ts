import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

// What is begun last should be short, so that no process waits long for another at the end. How long a file took on this machine is kept
// beside what npm has installed. Before its first run here, ./longest.json knows about how many seconds the longest files take; of the
// others, the length of the text is the best guess.

const kept = 'node_modules/.cache/test-times.json';
const bytesASecond = 4_000;

export type Times = Record<string, number>;

const readJson = (file: string): Times => JSON.parse(readFileSync(file, 'utf8'));

/** In seconds. */
export const readLongest = (): Times => readJson(join(import.meta.dirname, 'longest.json'));

const readTimes = (): Times => (existsSync(kept) ? readJson(kept) : {});

export const keepTimes = (times: Times) => writeFileSync(kept, JSON.stringify({ ...readTimes(), ...times }));

export function longestFirst(files: string[]): string[] {
  const [times, longest] = [readTimes(), readLongest()];
  const guess = (file: string) => (longest[file] ?? statSync(file).size / bytesASecond) * 1000;
  const expected = new Map(files.map((file) => [file, times[file] ?? guess(file)]));
  return files.toSorted((a, b) => expected.get(b)! - expected.get(a)!);
}
