import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { isAlive } from '../../src/kernel/programs/process.ts';
import { freePort } from '../harness/free-port.ts';
import { ownPorts } from '../harness/own-ports.ts';
import { eventually, postgresOf, scratch } from '../harness/process.ts';
import { compileCache } from '../harness/quick-start.ts';
import { childrenOf, ordinaryEnv, quarterdeckCommand } from '../platform/a-parent.ts';

const bin = join(import.meta.dirname, '..', '..', 'bin', 'quarterdeck.mjs');

test('a server goes on when its terminal is closed, is reloaded, and stops', async (t) => {
  const { dir, dataDir } = await scratch(t, { isMigrated: true });
  const port = await freePort();
  const isServing = async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).status === 200;
  // `script` of util-linux makes a terminal; with it the terminal is gone.
  const terminal = spawn('script', ['-qec', `exec '${process.execPath}' '${bin}' serve`, '/dev/null'], {
    cwd: dir,
    stdio: ['pipe', 'ignore', 'inherit'],
    env: {
      ...ordinaryEnv(),
      ...ownPorts,
      ...compileCache,
      SHELL: '/bin/sh',
      TERM: 'xterm',
      QUARTERDECK_DATA: dataDir,
      QUARTERDECK_LISTEN: `127.0.0.1:${port}`,
    },
  });
  t.after(() => terminal.kill('SIGKILL'));
  await eventually(isServing, { withinMs: 90_000 });
  const [parent] = await childrenOf(terminal.pid!);
  t.after(() => isAlive(parent!) && process.kill(parent!, 'SIGKILL'));

  terminal.kill('SIGKILL');
  const log = () => readFile(join(dataDir, 'log', 'quarterdeck.log'), 'utf8');
  await eventually(async () => (await log()).includes('SIGHUP, as of a terminal that closes: the server goes on'));
  assert.ok(await isServing());
  // What it says now, it says to nothing.
  const { code, said } = await quarterdeckCommand(dir, ['admin', 'reload']);
  assert.equal(code, 0, said);
  assert.match(said, /was replaced by/);
  assert.ok(await isServing());

  process.kill(parent!, 'SIGTERM');
  await eventually(async () => !isAlive(parent!), { withinMs: 60_000 });
  assert.equal(await postgresOf(dataDir), undefined);
});
