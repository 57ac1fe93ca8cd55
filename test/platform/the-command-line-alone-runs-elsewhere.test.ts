import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { buildCommandLine } from '../../scripts/build/cli.ts';
import { quarterdeck } from '../harness/index.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

test('the package of the command line runs in an empty directory, without npm, dependencies and server', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'qdc-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  await buildCommandLine(join(folder, 'cli'));
  const files = execFileSync('npm', ['pack', '--json', '--dry-run', '--silent'], { cwd: join(folder, 'cli'), encoding: 'utf8' });
  const [packed] = JSON.parse(files);
  assert.deepEqual(packed.files.map((f: { path: string }) => f.path).sort(), [
    'LICENSE',
    'bin/docker-credential-quarterdeck.cjs',
    'bin/quarterdeck.cjs',
    'package.json',
  ]);
  assert.ok(packed.unpackedSize < 4_000_000, `${packed.unpackedSize} bytes`);
  const described = JSON.parse(readFileSync(join(folder, 'cli/package.json'), 'utf8'));
  assert.deepEqual([described.name, described.dependencies], ['@quarterdeck/cli', undefined]);

  const qd = await quarterdeck(t);
  const env = { HOME: folder, PATH: '', QUARTERDECK_URL: qd.url, QUARTERDECK_TOKEN: qd.owner.key };
  const run = async (program: string, ...args: string[]) => {
    const bin = join(folder, 'cli/bin', `${program}.cjs`);
    return promisify(execFile)(process.execPath, [bin, ...args], { cwd: folder, env }).catch((error) => error);
  };
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  assert.match((await run('quarterdeck', '--version')).stdout, new RegExp(`^${RegExp.escape(version)}\\+\\w{10,}\n$`));
  const help = await run('quarterdeck', '--help');
  assert.match(help.stdout, /^ {2}registry /m);
  assert.doesNotMatch(help.stdout, /^ {2}(serve|admin) /m);
  const loaded = await loadedBy(env, join(folder, 'cli/bin/quarterdeck.cjs'), '--help');
  for (const slow of ['child_process', 'readline', 'https', 'zlib', 'internal/deps/undici/undici'])
    assert.ok(!loaded.includes(`NativeModule ${slow}`), `--help loads ${slow}, which takes longer than the help itself`);
  const absent = await run('quarterdeck', 'admin', 'backup', './x');
  assert.equal(absent.code, 2);
  assert.match(absent.stderr, /admin is a command of the server/);
  assert.match((await run('quarterdeck', 'whoami')).stdout, new RegExp(qd.owner.email));
  // Beside the data of a server: its address is not the usual one, and nothing names it.
  const beside = join(folder, 'beside');
  mkdirSync(join(beside, 'data-try'), { recursive: true });
  writeFileSync(join(beside, 'data-try/owner.url'), `${qd.url}\n`);
  writeFileSync(join(beside, 'data-try/owner.token'), qd.owner.key);
  const bare = { cwd: beside, env: { HOME: folder, PATH: '' } };
  const here = await promisify(execFile)(process.execPath, [join(folder, 'cli/bin/quarterdeck.cjs'), 'whoami'], bare);
  assert.match(here.stdout, new RegExp(qd.owner.email));
  rmSync(beside, { recursive: true });
  assert.deepEqual(JSON.parse((await run('docker-credential-quarterdeck', 'list')).stdout), {});
  assert.ok(statSync(join(folder, 'cli/bin/quarterdeck.cjs')).mode & 0o100, 'it can be executed');
  assert.deepEqual(readdirSync(folder).sort(), ['.cache', 'cli'], 'nothing else is left where it ran');
});

/** What of node itself a command loads. */
async function loadedBy(env: NodeJS.ProcessEnv, program: string, ...args: string[]): Promise<string[]> {
  const told = 'data:text/javascript,process.on("exit",()=>console.error(JSON.stringify(process.moduleLoadList)))';
  const { stderr } = await promisify(execFile)(process.execPath, ['--import', told, program, ...args], { env });
  return JSON.parse(stderr.trim().split('\n').at(-1)!);
}
