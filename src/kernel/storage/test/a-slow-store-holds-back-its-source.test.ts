import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeS3 } from '../../../../test/fakes/s3.ts';
import { StorageUnavailable } from '../index.ts';
import { opened } from './storages.ts';

const MiB = 1024 * 1024;

test('a store that takes nothing is sent no more than two parts of an endless body, and the sender is let go', async (t) => {
  const fake = await fakeS3();
  t.after(() => fake.stop());
  const storage = opened(t, { ...fake, limits: { attempts: 1, silenceMs: 200 } });
  const id = await storage.createUpload();
  fake.trouble = ({ operation }) => (/PutObject|UploadPart/.test(operation) ? 'silence' : undefined);

  for (const send of [
    (body: AsyncIterable<Uint8Array>) => storage.put('endless', body),
    (body: AsyncIterable<Uint8Array>) => storage.append(id, 0, body),
  ]) {
    let sent = 0;
    let letGo = false;
    const endless = async function* () {
      try {
        for (;;) {
          sent += 65_536;
          yield Buffer.alloc(65_536);
        }
      } finally {
        letGo = true;
      }
    };
    await assert.rejects(send(endless()), StorageUnavailable);
    assert.ok(sent <= 16 * MiB + 65_536, `${sent} bytes were taken`);
    assert.ok(letGo);
  }
});
