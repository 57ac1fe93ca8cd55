import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { readNodeId } from '../data/node.ts';
import { loadOrCreateCertificate } from '../x509/certificate.ts';

test('servers that start together in a new data directory agree on what they find there', async (t) => {
  const data = await mkdtemp(join(tmpdir(), 'qdn-'));
  t.after(() => rm(data, { recursive: true, force: true }));
  const together = Array.from({ length: 8 });

  const ids = await Promise.all(together.map(() => readNodeId({ data })));
  assert.equal(new Set(ids).size, 1);
  assert.match(ids[0]!, /^[0-9a-f-]{36}$/);

  const made = await Promise.all(together.map(() => loadOrCreateCertificate(data, 'mail.example.com')));
  const kept = await readFile(join(data, 'smtp-certificate.pem'), 'utf8');
  assert.ok(
    made.some(({ cert, key }) => kept === key + cert),
    'one of them, whole',
  );
  assert.deepEqual((await readdir(data)).sort(), ['node.id', 'smtp-certificate.pem'], 'no halves are left');
});
