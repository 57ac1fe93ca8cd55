import { test } from 'node:test';
import { fuzzOperations } from './fuzzer.ts';

// The same requests on every run; QUARTERDECK_FUZZ_RUNS and _SEED ask for more and for others, and so does `npm run test:faults -- fuzz`.

const runs = Number(process.env.QUARTERDECK_FUZZ_RUNS ?? 12);
const seed = Number(process.env.QUARTERDECK_FUZZ_SEED ?? 20_261_115);

test('no input to any operation gets a 5xx or an undeclared answer', (t) => fuzzOperations(t, { runs, seed }));
