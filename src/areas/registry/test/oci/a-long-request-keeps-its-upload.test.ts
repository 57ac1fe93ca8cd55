import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import Type from 'typebox';
import { row, run } from '../../../../kernel/db/index.ts';
import { codeOf, digestOf, registryServer } from '../registry-server.ts';

test('an upload does not expire while one long request fills it', async (t) => {
  const { send, app, engine } = await registryServer(t, { settings: { uploadSeconds: 1000 } });
  const { settings } = engine;
  const expiry = async () =>
    (await app.db.read((tx) => row(tx, Type.Object({ at: Type.String() }))`select expires_at as at from registry.upload`))!.at;

  const location = (await send('POST', '/v2/acme/app/blobs/uploads/')).headers.location!;
  const first = await expiry();
  const piece = Buffer.from('slowly ');
  const sent: Buffer[] = [];
  async function* slowly() {
    while ((await expiry()) === first) {
      sent.push(piece);
      yield piece;
      await sleep(10);
    }
    settings.uploadSeconds = 1000;
  }
  settings.uploadSeconds = 0.3;
  assert.equal((await send('PATCH', location, { body: slowly() })).status, 202);
  assert.equal((await send('PUT', `${location}?digest=${digestOf(Buffer.concat(sent))}`)).status, 201);
});

test('bytes for an upload that is gone by now are not acknowledged', async (t) => {
  const { send, app } = await registryServer(t);
  const location = (await send('POST', '/v2/acme/app/blobs/uploads/')).headers.location!;
  const { append } = app.storage;
  app.storage.append = async (...args) => {
    app.storage.append = append;
    await app.db.write((tx) => run(tx)`delete from registry.upload`);
    return append(...args);
  };
  const refused = await send('PATCH', location, { body: Buffer.from('in vain') });
  assert.deepEqual([refused.status, codeOf(refused)], [404, 'BLOB_UPLOAD_UNKNOWN']);
});
