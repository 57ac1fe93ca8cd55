import { readFileSync } from 'node:fs';
import type { Things } from './thing-table.ts';

export type * from './thing-table.ts';

let read: Things | undefined;

/** As JSON, read once and only by the command line. */
export function readThings(): Things {
  read ??= JSON.parse(readFileSync(new URL('./generated/things.json', import.meta.url), 'utf8')) as Things;
  return read;
}
