import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { ownPorts } from '../harness/own-ports.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** An empty directory with the package as `npm install` would put it, and beside it what its package.json asks for, nothing else. */
function install(): { folder: string; files: string[] } {
  const folder = mkdtempSync(join(tmpdir(), 'qdn-'));
  const [packed] = JSON.parse(
    execFileSync('npm', ['pack', '--json', '--silent', '--pack-destination', folder], { cwd: root, encoding: 'utf8' }),
  );
  const modules = join(folder, 'node_modules');
  mkdirSync(join(modules, '@quarterdeck/server'), { recursive: true });
  execFileSync('tar', ['-xzf', join(folder, packed.filename), '-C', join(modules, '@quarterdeck/server'), '--strip-components=1']);
  const { dependencies, optionalDependencies } = JSON.parse(readFileSync(join(modules, '@quarterdeck/server/package.json'), 'utf8'));
  for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
    if (!existsSync(join(root, 'node_modules', name))) continue; // of another platform
    mkdirSync(dirname(join(modules, name)), { recursive: true });
    symlinkSync(join(root, 'node_modules', name), join(modules, name));
  }
  return { folder, files: packed.files.map((f: { path: string }) => f.path) };
}

test('the package runs in an empty directory: version, server, command line, SDK and its types', async (t) => {
  const { folder, files } = install();
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const bin = join(folder, 'node_modules/@quarterdeck/server/bin/quarterdeck.mjs');
  const env = { PATH: process.env['PATH']!, HOME: folder };
  const run = (...args: string[]) => execFileSync(process.execPath, args, { cwd: folder, env, encoding: 'utf8' });

  assert.deepEqual(
    files.filter((f) => /(^|\/)(test|generate|scripts|bench)\/|(?<!\.d)\.ts$/.test(f)),
    [],
    'neither sources nor tests are carried',
  );
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  assert.match(run(bin, '--version'), new RegExp(`^${RegExp.escape(version)}\\+\\w{10,}\n$`));

  const server = spawn(process.execPath, [bin, 'serve'], {
    cwd: folder,
    env: { ...env, ...ownPorts, QUARTERDECK_LOG_LEVEL: 'error' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(server, 'exit');
  t.after(() => server.kill('SIGKILL'));
  const url = await ready(server.stdout);
  assert.match(run(bin, 'whoami', '--url', url), /^user +owner@localhost$/m);

  writeFileSync(
    join(folder, 'use.mjs'),
    `import { readFileSync } from 'node:fs';
     import { quarterdeck } from '@quarterdeck/server/sdk';
     const api = quarterdeck({ url: '${url}', token: readFileSync('data/owner.token', 'utf8').trim() });
     console.log((await api.tokens.listTokens()).tokens[0].name);`,
  );
  assert.equal(run('use.mjs'), 'this machine\n');

  server.kill('SIGTERM');
  assert.deepEqual(await ended, [0, null]);
  assert.deepEqual(typeErrors(folder), [`use.ts(4,19): error TS2322: Type 'string' is not assignable to type 'number'.`]);
});

const ready = (stdout: Readable) =>
  new Promise<string>((resolve, reject) => {
    let said = '';
    stdout.on('data', (chunk) => {
      said += chunk;
      const url = /ready at (\S+)\n/.exec(said)?.[1];
      if (url) resolve(url);
    });
    stdout.once('end', () => reject(new Error(`the server ended before it was ready: ${said}`)));
  });

/** One mistake is planted: types that were not found would hide it. */
function typeErrors(folder: string): string[] {
  const use = join(folder, 'use.ts');
  writeFileSync(
    use,
    `import { type PersonalToken, quarterdeck } from '@quarterdeck/server/sdk';
     const { tokens } = await quarterdeck({ url: 'http://localhost' }).tokens.listTokens({ limit: 3 });
     export const first: PersonalToken = tokens[0]!;
     export const planted: number = first.name;`,
  );
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  const options = [
    '--strict',
    '--skipDefaultLibCheck', // TypeScript's own declarations are not ours to check
    '--noEmit',
    '--target',
    'esnext',
    '--module',
    'nodenext',
    '--lib',
    'esnext,dom',
    '--types',
    '',
    '--pretty',
    'false',
  ];
  const { stdout } = spawnSync(process.execPath, [join(root, 'node_modules/typescript-7/bin/tsc'), ...options, use], {
    cwd: folder,
    encoding: 'utf8',
  });
  return stdout.trim().split('\n');
}
