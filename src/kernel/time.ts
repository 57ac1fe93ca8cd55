import { randomBytes } from 'node:crypto';
import Type from 'typebox';
import { row, run, type Tx } from './db/index.ts';

/** The product's one clock: `kernel.now()` in SQL. Decisions use neither now() nor Date.now(). */
export const now = async (tx: Tx): Promise<string> => (await row(tx, Type.Object({ now: Type.String() }))`select kernel.now() as now`)!.now;

/** Tests move time by an offset that every process sees; caches with deadlines must be dropped afterwards. */
export const moveClock = (tx: Tx, seconds: number) =>
  run(tx)`update kernel.clock set clock_offset = clock_offset + make_interval(secs => ${seconds})`;

const letters = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** The first ten letters of an id's ULID: its time. */
export function idTime(ms: number): string {
  let left = Math.max(0, Math.floor(ms));
  let text = '';
  for (let i = 0; i < 10; i++) {
    text = letters[left % 32] + text;
    left = Math.floor(left / 32);
  }
  return text;
}

/**
 * Ids as `kernel.new_id` makes them, with a time from `kernel.now()`. For batches: the function takes 50 µs for each id, which would be
 * most of the database's work.
 */
export function makeIds(type: string, now: string, count: number): string[] {
  const time = idTime(Date.parse(now));
  const random = randomBytes(16 * count);
  return Array.from({ length: count }, (_, n) => {
    let text = `${type}_${time}`;
    for (let i = 0; i < 16; i++) text += letters[random[16 * n + i]! & 31];
    return text;
  });
}
