import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { client } from '../registry-support.ts';

test('ORAS pushes artifacts, attaches others to them, discovers, copies and deletes them', async (t) => {
  const { run, fails, at, folder, login } = await client(t);
  const oras = async (...args: string[]) =>
    (await run('env', `ORAS_USER=${login.username}`, `ORAS_PASSWORD=${login.password}`, 'oras-go', ...args)).trim();
  for (const [name, size] of [
    ['chart', 300_000],
    ['sbom', 5_000],
    ['signature', 500],
  ] as const)
    await writeFile(join(folder, name), randomBytes(size).toString('base64'));

  assert.match(await fails('oras-go', 'push', `${at}/charts/app:1.0`, 'application/vnd.test.chart', 'chart'), /unauthorized|401/i);
  const chart = await oras('push', `${at}/charts/app:1.0`, 'application/vnd.test.chart', 'chart');
  const sbom = await oras('attach', `${at}/charts/app:1.0`, 'application/vnd.test.sbom', 'sbom');
  const signature = await oras('attach', `${at}/charts/app:1.0`, 'application/vnd.test.signature', 'signature');
  assert.deepEqual(
    (await oras('discover', `${at}/charts/app:1.0`)).split('\n').sort(),
    [`${sbom} application/vnd.test.sbom`, `${signature} application/vnd.test.signature`].sort(),
  );
  assert.equal(await oras('discover', `${at}/charts/app:1.0`, 'application/vnd.test.sbom'), `${sbom} application/vnd.test.sbom`);
  assert.equal(await oras('tags', `${at}/charts/app:1.0`), '1.0', 'no tag is needed for what refers to it');

  // The artifact with everything that refers to it goes into another repository.
  assert.equal(await oras('copy', `${at}/charts/app:1.0`, `${at}/mirror/app:1.0`), chart);
  assert.equal((await oras('discover', `${at}/mirror/app:1.0`)).split('\n').length, 2);
  assert.ok((await oras('pull', `${at}/mirror/app:1.0`)).length > 300_000);

  await oras('delete', `${at}/charts/app@${sbom}`);
  assert.equal(await oras('discover', `${at}/charts/app:1.0`), `${signature} application/vnd.test.signature`);
  await oras('delete', `${at}/charts/app:1.0`);
  assert.match(await oras('discover', `${at}/mirror/app:1.0`), /sbom/, 'the copy keeps its own');
});
