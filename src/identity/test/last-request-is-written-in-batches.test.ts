import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../test/harness/index.ts';
import type { App } from '../../kernel/app.ts';
import { DatabaseUnavailable, run } from '../../kernel/db/index.ts';
import { lastRequests } from '../last-request.ts';

test('lastRequest is written for all tokens at once, and shows in the list', async (t) => {
  const { app, owner, member, clock } = await quarterdeck(t);
  const others = [await member(owner, 'member'), await member(owner, 'member')];
  let writes = 0;
  let away = false;
  const counting = {
    ...app,
    db: {
      ...app.db,
      write: async (work: never) => {
        writes++;
        if (away) throw new DatabaseUnavailable(new Error('cut'));
        return app.db.write(work);
      },
    },
  } as App;
  const requests = lastRequests(counting, 3_600_000);
  t.after(() => requests.close());
  const last = async (who: typeof owner) =>
    (await who.get('/tokens')).body.tokens.find((x: { id: string }) => x.id === who.tokenId).lastRequest;
  assert.equal(await last(owner), null);

  for (let n = 0; n < 1_000; n++) for (const who of [owner, ...others]) requests.used(who.tokenId);
  requests.used('tok_deleted_meanwhile');
  assert.equal(writes, 0);
  await requests.flush();
  assert.equal(writes, 1);
  const first = await last(owner);
  assert.match(first, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  assert.ok(await last(others[1]!));
  await requests.flush();
  assert.equal(writes, 1); // nothing new, nothing written

  // While the database is away nothing is lost: what was seen is written when it is back.
  await clock.advance('1h');
  away = true;
  requests.used(owner.tokenId);
  await assert.rejects(requests.flush(), DatabaseUnavailable);
  away = false;
  await requests.flush();
  assert.ok((await last(owner)) > first);
});

test('two processes that write the same tokens at once do not get in each other’s way', async (t) => {
  const { app, owner } = await quarterdeck(t);
  const ids: string[] = [];
  for (let n = 0; n < 20; n++) ids.push((await owner.post('/tokens', { name: `${n}` })).body.id);
  const [one, two] = [lastRequests(app, 3_600_000), lastRequests(app, 3_600_000)];
  t.after(() => Promise.all([one.close(), two.close()]));
  for (let round = 0; round < 10; round++) {
    for (const id of ids) one.used(id);
    for (const id of [...ids].reverse()) two.used(id);
    await Promise.all([one.flush(), two.flush()]);
  }
});

test('a stopping server writes what it has seen', async (t) => {
  const first = await quarterdeck(t);
  const second = await quarterdeck(t, { connection: first.connection, dataDir: first.dataDir });
  await second.owner.get('/me');
  await second.stop();
  const { tokens } = (await first.owner.get('/tokens')).body;
  assert.ok(tokens.find((x: { id: string }) => x.id === second.owner.tokenId).lastRequest);
});

test('a token that is locked to mint or to revoke delays no other token’s lastRequest, and gets its own the next time', async (t) => {
  const { app, owner, organization } = await quarterdeck(t);
  const other = await organization('other');
  const requests = lastRequests(app, 3_600_000);
  t.after(() => requests.close());
  const last = async (who: typeof owner) =>
    (await who.get('/tokens')).body.tokens.find((x: { id: string }) => x.id === who.tokenId).lastRequest;
  for (const who of [owner, other]) requests.used(who.tokenId);
  await app.db.write(async (tx) => {
    await run(tx)`select from identity.token where id = ${owner.tokenId} for no key update`;
    await requests.flush();
  });
  assert.deepEqual([await last(owner), typeof (await last(other))], [null, 'string']);
  await requests.flush();
  assert.ok(await last(owner));
});
