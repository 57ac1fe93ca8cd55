import Type from 'typebox';
import { row, run, type Tx } from './db/index.ts';

/** The product's one clock: `kernel.now()` in SQL. Decisions use neither now() nor Date.now(). */
export const now = async (tx: Tx): Promise<string> => (await row(tx, Type.Object({ now: Type.String() }))`select kernel.now() as now`)!.now;

/** Tests move time by an offset that every process sees; caches that remember deadlines must be dropped after it. */
export const moveClock = (tx: Tx, seconds: number) =>
  run(tx)`update kernel.clock set clock_offset = clock_offset + make_interval(secs => ${seconds})`;
