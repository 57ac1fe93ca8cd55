import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { eventually, scratch, serverProcess } from '../../../test/harness/process.ts';

test('a port that another server takes between the choice and the start is chosen again', async (t) => {
  const { dir, dataDir } = await scratch(t);
  const left = undefined as never; // a port that is set is not chosen
  const env = { QUARTERDECK_SMTP_SUBMISSION: left, QUARTERDECK_DNS_SERVERS: left };
  const server = serverProcess(t, { dir, args: ['serve', '--try'], env });
  const told = join(dataDir, 'try', 'submission');
  const readDoor = async () => (await readFile(told, 'utf8')).trim();
  // The choice is written down before PostgreSQL starts, and the port is taken after.
  const first = await eventually(readDoor, { withinMs: 60_000, everyMs: 5 });
  const other = createServer().listen(Number(first.split(':')[1]), '127.0.0.1');
  t.after(() => other.close());
  await once(other, 'listening');

  await server.ready;
  assert.notEqual(await readDoor(), first);
  assert.equal(await server.stopped(), 0);
});
