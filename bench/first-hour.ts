/**
 * The first hour, measured as a new user meets it: a server with --try in an empty directory, then one command for each kind of thing.
 * All five within 60 s on an idle machine. Then the start of the command line (`--help`): of a clone, of the built package and of the
 * single file, in turns, since a machine that grows busy must not count against one of them. `npm run bench -- first-hour`
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, realpath, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildCommandLine, buildSingleFile } from '../scripts/build/cli.ts';

const program = join(import.meta.dirname, '..', 'bin', 'quarterdeck.mjs');
const promisedSeconds = 60;
const promisedStartMs = 150;
const rounds = 21;

const directory = await realpath(await mkdtemp(join(tmpdir(), 'qdf-')));
await chmod(directory, 0o755); // as root, PostgreSQL runs as another user
/** No settings of this machine: only what a new user has. */
const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('QUARTERDECK_')));
const start = (args: string[]) => spawn(process.execPath, [program, ...args], { cwd: directory, env, stdio: ['ignore', 'pipe', 'pipe'] });

const began = performance.now();
const seconds = (since: number) => (performance.now() - since) / 1000;
const print = (what: string, took: number) => console.log(`${what.padEnd(22)} ${took.toFixed(1).padStart(6)} s`);

const server = start(['serve', '--try']);
let said = '';
const ended = once(server, 'close');
try {
  await new Promise<void>((resolve, reject) => {
    server.stdout.setEncoding('utf8').on('data', (text: string) => {
      said += text;
      if (/is ready at http/.test(said)) resolve();
    });
    server.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
    void ended.then(() => reject(new Error(`the server ended: ${said}`)));
  });
  print('ready', seconds(began));

  const steps: [what: string, args: string[], shows: RegExp][] = [
    ['image pushed', ['push'], /try\/hello:v1 pushed/],
    ['cluster API answers', ['cluster'], /its API answers/],
    ['mail delivered', ['mail'], /✓ (delivered|sent)/],
    ['page received', ['page'], /was paged by/],
  ];
  for (const [what, args, shows] of steps) {
    const since = performance.now();
    const command = start(['try', ...args]);
    let output = '';
    for (const stream of [command.stdout, command.stderr]) stream.setEncoding('utf8').on('data', (text: string) => (output += text));
    const [code] = await once(command, 'close');
    if (code !== 0 || !shows.test(output)) throw new Error(`quarterdeck try ${args.join(' ')} ended with ${code}: ${output}`);
    print(what, seconds(since));
  }
  const total = seconds(began);
  print('all five', total);
  const holds = total <= promisedSeconds;
  console.log(holds ? `holds: within ${promisedSeconds} s` : `does not hold: ${promisedSeconds} s were promised`);
  if (!holds) process.exitCode = 1;
} finally {
  server.kill('SIGTERM');
  await ended;
}
try {
  await measureStarts();
} finally {
  await rm(directory, { recursive: true, force: true, maxRetries: 10 });
}

async function measureStarts(): Promise<void> {
  const folder = join(directory, 'cli');
  await buildCommandLine(folder);
  const single = await buildSingleFile(folder);
  const ways = {
    // What no program for Node can go below here, now.
    'empty program': { command: [process.execPath, '--eval', '0', '--'], isPromised: false },
    clone: { command: [process.execPath, join(import.meta.dirname, '..', 'quarterdeck')], isPromised: false },
    package: { command: [process.execPath, join(folder, 'bin', 'quarterdeck.cjs')], isPromised: true },
    'single file': { command: [single], isPromised: true },
  };
  const took = new Map(Object.keys(ways).map((name) => [name, [] as number[]]));
  // The first round fills the caches of compiled code, and does not count.
  for (let round = 0; round <= rounds; round++)
    for (const [name, { command }] of Object.entries(ways)) {
      const ms = startOf(command);
      if (round > 0) took.get(name)!.push(ms);
      else if (command[0] === single) console.log(`the first start of the single file, which unpacks it: ${ms.toFixed(0)} ms`);
    }
  for (const [name, { isPromised }] of Object.entries(ways)) {
    const median = took.get(name)!.toSorted((a, b) => a - b)[Math.floor(rounds / 2)]!;
    const verdict = isPromised
      ? median < promisedStartMs
        ? `holds: under ${promisedStartMs} ms`
        : `does not hold: ${promisedStartMs} ms were promised`
      : '';
    console.log(`${`--help of the ${name}`.padEnd(26)} ${median.toFixed(0).padStart(6)} ms  ${verdict}`.trimEnd());
    if (isPromised && median >= promisedStartMs) process.exitCode = 1;
  }
  console.log(`the single file has ${((await stat(single)).size / 1e6).toFixed(0)} MB`);
}

function startOf([command, ...args]: string[]): number {
  const since = performance.now();
  const { status, stderr } = spawnSync(command!, [...args, '--help'], {
    cwd: directory,
    env: { ...env, XDG_CACHE_HOME: join(directory, 'cache') },
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`${command} --help ended with ${status}: ${stderr}`);
  return performance.now() - since;
}
