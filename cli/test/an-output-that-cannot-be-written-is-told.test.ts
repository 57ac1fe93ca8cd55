import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { quarterdeck } from '../../test/harness/index.ts';
import { compileCache, quickFlags } from '../../test/harness/quick-start.ts';
import { cliOf } from './support.ts';

const main = join(import.meta.dirname, '..', '..', 'src', 'main.ts');

test('a list that goes to a full disk ends with a sentence and a code', {
  skip: !existsSync('/dev/full') && 'there is no /dev/full',
}, async (t) => {
  const { url, owner, dataDir } = await quarterdeck(t);
  for (const typed of [['tokens', 'list'], ['tokens', 'list', '--json'], ['whoami'], ['version']]) {
    const child = spawn(process.execPath, [...quickFlags, main, ...typed], {
      cwd: dataDir,
      env: { PATH: process.env['PATH']!, ...compileCache, QUARTERDECK_URL: url, QUARTERDECK_TOKEN: owner.key },
      stdio: ['ignore', openSync('/dev/full', 'w'), 'pipe'],
    });
    let told = '';
    child.stderr!.on('data', (chunk) => (told += chunk));
    const code = await new Promise((resolve) => child.once('close', resolve));
    assert.deepEqual(
      [code, told.replaceAll(/^(?!quarterdeck: the output).*\n/gm, '')],
      [26, 'quarterdeck: the output could not be written: there is no space left where it goes\n'],
    );
  }
});

test('what has nothing to show takes --json all the same, and prints an empty object', async (t) => {
  const { url, owner } = await quarterdeck(t);
  const cli = cliOf(url, owner.key);
  for (const [args, printed] of [
    [['--json'], '{}\n'],
    [[], ''],
  ] as const) {
    const { id } = (await owner.post('/uptime/services', { name: 'shop' })).body;
    const told = args.length ? '' : `deleted service ${id}\n`;
    assert.deepEqual(await cli('uptime', 'services', 'delete', id, ...args), { code: 0, stdout: printed, stderr: told });
  }
});
