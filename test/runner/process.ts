// Runs test files, one after the other, as it is told to over its channel.

import { executionAsyncResource } from 'node:async_hooks';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createRequire, flushCompileCache } from 'node:module';
import { resolve } from 'node:path';
import { suite } from 'node:test';
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { observeFaults } from '../../src/kernel/faults/faults.ts';
import { followTests, forgetEndedTests, restFollowing } from './following.ts';
import { added, handles, settings } from './footprint.ts';
import { reports, tell } from './tell.ts';

/** So long may what a file has closed take to be gone. */
const goneWithinMs = Number(process.argv[2]);

const now = performance.now.bind(performance); // whatever a test makes of it

let uncaught: unknown;
process.on('uncaughtException', (error) => (uncaught = error));
process.on('unhandledRejection', (reason) => (uncaught = reason));
// What `guarded` caught ends no process; it is a defect all the same, unless a test makes it on purpose.
const faults: string[] = [];
observeFaults(({ name, error }) => {
  if (!/deliberate/.test(String(error))) faults.push(`the handler ${name} failed: ${String((error as Error)?.stack ?? error)}`);
});
process.on('disconnect', () => process.exit());

let ran = 0;

async function runFile(file: string): Promise<void> {
  const before = { handles: handles(), settings: settings() };
  const began = { at: now(), cpu: cpuMs() };
  tell({ type: 'begun', file, pid: process.pid });
  const reported = once(reports, 'reported') as Promise<[{ tests: number; failed: number }]>;
  // A suite's tests begin once all of it has been read, as with node's own runner: what stands below a test is there by then. Its limit
  // is one that no file reaches: each of its tests has its own, from the command line.
  followTests();
  void suite(file, { timeout: 2 ** 31 - 1 }, () => {
    forgetEndedTests(executionAsyncResource());
    return load(resolve(file));
  });
  if (!isLoading) restFollowing();
  const [{ tests, failed }] = await reported;
  await turn(); // what nobody handles is told of only at the end of its turn
  // For the processes that start meanwhile: in a fresh clone they would all compile the same. Seldom, since each file adds less, and
  // thousands of modules are looked through for it.
  if (Number.isInteger(Math.log2(++ran))) flushCompileCache();

  const problems: string[] = [];
  if (!tests && !failed) problems.push('it reported no test');
  const left = [...added(before.settings, settings()), ...(await handlesSince(before.handles))];
  if (left.length) problems.push(`it left behind: ${left.join(', ')}`);
  // Set by the test runner when something is thrown that belongs to no test that it knows of.
  if (process.exitCode) problems.push(`something failed that no test waited for: ${String((uncaught as Error)?.stack ?? uncaught)}`);
  process.exitCode = undefined;
  problems.push(...faults.splice(0));
  for (const error of problems) tell({ type: 'failed', file, name: file, at: file, error });
  tell({
    type: 'ended',
    file,
    tests,
    ms: now() - began.at,
    cpuMs: cpuMs() - began.cpu,
    isSpoiled: failed > 0 || problems.length > 0,
  });
}

const require = createRequire(import.meta.url);
const needsImport: ReadonlySet<unknown> = new Set(['ERR_REQUIRE_ASYNC_MODULE', 'ERR_REQUIRE_ESM_RACE_CONDITION']);
let isLoading = false;

/**
 * At once, where that is possible: an `import` follows all that the file leans on to its ends, two thousand modules that are loaded already,
 * with promises for each. A file that awaits something at its top is imported, and one that leans on what is being imported at this moment.
 */
function load(path: string): Promise<void> | undefined {
  try {
    require(path);
    return undefined;
  } catch (error) {
    if (!needsImport.has((error as NodeJS.ErrnoException).code)) throw error;
  }
  isLoading = true;
  const ended = () => {
    isLoading = false;
    restFollowing();
  };
  return import(pathToFileURL(path).href).then(() => {}).finally(ended);
}

async function handlesSince(before: string[]): Promise<string[]> {
  for (const until = now() + goneWithinMs; ; await sleep(20)) {
    const left = added(before, handles());
    if (!left.length || now() > until) return left;
  }
}

/** Of this process and, where the kernel tells, of the children that it has waited for. */
function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000 + childrenMs();
}

function childrenMs(): number {
  if (process.platform !== 'linux') return 0;
  const fields = readFileSync('/proc/self/stat', 'utf8').split(') ')[1]!.split(' ');
  return (Number(fields[13]) + Number(fields[14])) * 10; // proc_pid_stat(5): cutime and cstime, in hundredths of a second
}

// While a file runs, the channel does not keep the process: a test that waits for nothing ends it, and is found.
process.on('message', async ({ file }: { file: string }) => {
  process.channel!.unref();
  await runFile(file);
  process.channel!.ref();
});
