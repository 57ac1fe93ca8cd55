// Runs test files on one PostgreSQL: started here, handed down to each process, stopped at the end. With QUARTERDECK_TEST_AGAIN a few
// files that failed run once more, alone, and the end says so: a machine that stalls for seconds should not cost a change its landing.
// QUARTERDECK_TEST_TIMES lists what each file took. With --check the house rules are looked at meanwhile, and a broken one ends the run.
import { globSync } from 'node:fs';
import { buildMain, handDownBuilt } from './harness/built.ts';
import { handDown, startTestServer } from './harness/postgres.ts';
import { makeReporter } from './reporter.ts';
import { startHouseRules } from './runner/house-rules.ts';
import { type LeftRunning, watchDescendants } from './runner/left-running.ts';
import { keepTimes, longestFirst } from './runner/order.ts';
import { runFiles } from './runner/pool.ts';
import type { Told } from './runner/told.ts';

const sets = {
  clients: ['test/clients/**/*.test.ts'],
  faults: ['test/faults/*.ts'],
  all: [
    'contract/**/*.test.ts',
    'src/**/*.test.ts',
    'sdk/**/*.test.ts',
    'cli/**/*.test.ts',
    'test/{matrix,conformance,platform,harness,runner,console}/**/*.test.ts',
  ],
};

const args = process.argv.slice(2);
const named = args.filter((a) => !a.startsWith('--'));
const isLongSet = args.includes('--clients') || args.includes('--faults');
// `npm run test:faults -- neighbours` names a campaign by a part of its name.
const paths = args.includes('--faults') ? named.map((name) => (name.includes('/') ? name : `test/faults/*${name}*.ts`)) : named;
const patterns = paths.length ? paths : args.includes('--clients') ? sets.clients : args.includes('--faults') ? sets.faults : sets.all;
const files = [...new Set(patterns.flatMap((p) => globSync(p)))].sort();
if (!files.length) {
  console.error(`no test files match ${patterns.join(' ')}`);
  process.exit(1);
}

const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stop.abort());

const descendants = watchDescendants();

/** Runs files and says which of them failed. */
async function run(some: string[], lanes: { lanes: number; lanesAtMost?: number }, isEachAlone: boolean): Promise<string[]> {
  const { tell, failed, missing, times, close } = makeReporter();
  // Campaigns of kills and Kubernetes' own tests name their own, longer limits.
  const timeoutMs = args.includes('--faults') || args.includes('--long') ? 3_600_000 : 180_000;
  const hear = (told: Told) => {
    if (told.type === 'begun') descendants.begin(told.pid, told.file);
    tell(told);
  };
  await runFiles({ files: longestFirst(some), ...lanes, isEachAlone, timeoutMs, env, stop: stop.signal, tell: hear });
  // Nothing passes because nothing was heard of it. Of a run that was ended nobody asks.
  const unheard = stop.signal.aborted ? [] : missing(some);
  for (const file of unheard) tell({ type: 'failed', file, name: file, at: file, error: 'it was not run to its end' });
  close();
  if (!stop.signal.aborted) keepTimes(times());
  return [...failed];
}

/** So many files may fail beside the others and pass alone before the run counts as failed. */
const unsteadyAtMost = 5;
const again = Boolean(process.env.QUARTERDECK_TEST_AGAIN);

const houseRules = args.includes('--check') ? startHouseRules(stop.signal) : undefined;
void houseRules?.passed.then((passed) => passed || stop.abort());

/** With so many files, some of them start processes enough to make up for the build. */
const manyFiles = 30;
const [server, built] = await Promise.all([startTestServer(), files.length >= manyFiles ? buildMain().then(handDownBuilt) : {}]);
const env = { ...handDown(server), ...built };
let failed = files;
try {
  // The longest files come first, and most of them wait: four processes of them do not keep two processors busy.
  failed = await run(files, { lanes: 2, lanesAtMost: isLongSet ? 3 : 6 }, isLongSet);
  if (again && !stop.signal.aborted && failed.length && failed.length <= unsteadyAtMost) {
    console.log('\nonce more, alone:');
    const first = failed;
    failed = await run(first, { lanes: 1 }, true);
    if (!failed.length) console.log(`UNSTEADY, to be mended: ${first.join(' ')} failed above and passed alone`);
  }
} finally {
  await server.stop();
}
const isLawful = (await houseRules?.passed) ?? true;
// The programs of a cluster may end up to 10 s after their server. A caller who ended the run does not wait for them.
const left = await descendants.left(stop.signal.aborted ? 1_000 : 15_000);
for (const each of left) endLeft(each);
process.exit(failed.length || left.length || !isLawful || stop.signal.aborted ? 1 : 0);

/** It would take processor time from the next run. */
function endLeft({ pid, command, file = 'the run itself' }: LeftRunning): void {
  console.log(`LEFT RUNNING, and killed: process ${pid} of ${file}: ${command}`);
  try {
    process.kill(pid, 'SIGKILL');
  } catch {} // it has ended by now
}
