/** Requests to every operation that nobody has thought of: others each time, QUARTERDECK_FUZZ_RUNS to each (default 200). */
import { randomInt } from 'node:crypto';
import { test } from 'node:test';
import { fuzzOperations } from '../conformance/fuzzer.ts';

const runs = Number(process.env.QUARTERDECK_FUZZ_RUNS ?? 200);
const seed = Number(process.env.QUARTERDECK_FUZZ_SEED ?? randomInt(2 ** 30));

test('no input to any operation gets a 5xx or an undeclared answer', { timeout: 3_600_000 }, async (t) => {
  t.diagnostic(`QUARTERDECK_FUZZ_SEED=${seed}`);
  await fuzzOperations(t, { runs, seed });
});
