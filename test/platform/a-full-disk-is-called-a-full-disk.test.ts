import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isFull } from '../../src/kernel/data/disk-space.ts';
import { run } from '../../src/kernel/db/index.ts';
import { quarterdeck } from '../harness/index.ts';

test('a write to a full disk says so, and so does the readiness probe', async (t) => {
  const { app, owner, url } = await quarterdeck(t);
  const ready = async () => {
    const answer = await fetch(`${url}/readyz`);
    return { status: answer.status, text: await answer.text() };
  };
  assert.equal((await ready()).status, 200);
  // What PostgreSQL says when it cannot extend a file.
  await app.db.write(
    (tx) => run(tx)`create function services.no_room() returns trigger language plpgsql as
      $$ begin raise exception 'could not extend file: No space left on device' using errcode = 'disk_full'; end $$`,
  );
  await app.db.write((tx) => run(tx)`create trigger no_room before insert on services.service execute function services.no_room()`);
  for (const path of ['/uptime/services', '/oncall/services']) {
    const answer = await owner.post(path, { name: 'shop' });
    assert.equal(answer.status, 503, path);
    assert.equal(answer.body.error, 'the disk of the database is full; the operator has to free some space, then send this again');
    assert.equal(answer.headers.get('x-error-code'), 'unavailable');
  }
  assert.equal((await owner.get('/uptime/services')).status, 200, 'what reads goes on');
  const { status, text } = await ready();
  assert.equal(status, 503);
  assert.deepEqual(JSON.parse(text), { error: 'the disk of the database is full; free some space there' });
});

test('the disk of the data is full when there is no room for the next segment', () => {
  assert.equal(isFull({ bavail: 8_191, bsize: 4_096 }), true);
  assert.equal(isFull({ bavail: 8_192, bsize: 4_096 }), false);
});
