import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { renderUnit, usualFacts } from '../service/unit.ts';

const folder = join(import.meta.dirname, '../../../deploy/systemd');

test('the units in deploy/systemd are what the command prints for the usual paths', async () => {
  for (const [name, roles] of [
    ['quarterdeck.service', ''],
    ['quarterdeck@.service', '%i'],
  ] as const)
    assert.equal(await readFile(join(folder, name), 'utf8'), renderUnit({ ...usualFacts, roles }), `${name}: write it anew`);
});

test('a unit names the paths that it was made for', () => {
  const unit = renderUnit({
    program: '/srv/a b/$x',
    user: 'deck',
    dataDir: '/srv/data 100%',
    configDir: '/srv/etc',
    roles: 'api,registry',
  });
  for (const line of [
    'User=deck',
    'WorkingDirectory=/srv/etc',
    'Environment="QUARTERDECK_DATA=/srv/data 100%%"',
    'ExecStart="/srv/a b/$$x" serve --roles api,registry',
    'ReadWritePaths="/srv/data 100%%"',
    'ProtectHome=yes',
  ])
    assert.ok(unit.split('\n').includes(line), `${line} is not in\n${unit}`);
  assert.match(renderUnit({ ...usualFacts, dataDir: '/home/ada/deck/data' }), /^ProtectHome=no$/m);
});
