// alone: it looks at what the process has loaded
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { fakeS3 } from '../../../../test/fakes/s3.ts';
import { opened } from './storages.ts';

const { cache } = createRequire(import.meta.url);
const loaded = () => Object.keys(cache).some((file) => file.includes('client-s3'));

test('the S3 library loads on first use, not with the program', async (t) => {
  const fake = await fakeS3();
  t.after(() => fake.stop());
  const storage = opened(t, fake);
  assert.equal(loaded(), false);
  await storage.stat('key');
  assert.equal(loaded(), true);
});
