import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import pg from 'pg';
import { cutLink } from '../../../test/fakes/cut-link.ts';
import { freshDatabase, stopOwnServer } from '../../../test/harness/postgres.ts';
import { eventually } from '../../../test/harness/process.ts';
import type { Connection } from '../db/index.ts';
import { listen } from '../listen.ts';

after(stopOwnServer);

const quick = { heartbeatMs: 50, deafAfterMs: 250 };
/** Silence alone does not make it deaf here: the test is about statements that are not answered. */
const patient = { heartbeatMs: 50, deafAfterMs: 60_000, statementTimeoutMs: 300 };

async function say(connection: Connection, text: string) {
  const client = new pg.Client(connection);
  await client.connect();
  const { rows } = await client.query(text).finally(() => client.end());
  return rows;
}

// Side by side: they mostly wait for a link to be given up.
suite('a listener knows when it is deaf', { concurrency: true }, () => {
  test('a link that goes dead without notice is noticed, and hearing comes back with it', async (t) => {
    const { connection, drop } = await freshDatabase();
    t.after(drop);
    const link = await cutLink(t, { path: join(String(connection.host), `.s.PGSQL.${connection.port}`) });
    const listener = await listen({ connection: { ...connection, host: '127.0.0.1', port: link.port }, ...quick });
    t.after(() => listener.close());
    const heard: string[] = [];
    const changes: boolean[] = [];
    listener.on('news', (payload) => heard.push(payload));
    let reconnected = 0;
    listener.onChange((hearing) => changes.push(hearing));
    listener.onReconnect(() => reconnected++);
    await eventually(async () => listener.hearing);
    assert.equal(reconnected, 0, 'the first connection is none that follows another');
    await say(connection, `select pg_notify('news', 'one')`);
    await eventually(async () => heard.includes('one'));

    link.cut();
    await eventually(async () => !listener.hearing, { withinMs: 2_000, everyMs: 1 });
    await eventually(async () => changes.at(-1) === false, { withinMs: 2_000 });
    await say(connection, `select pg_notify('news', 'missed')`);

    link.mend();
    await eventually(async () => listener.hearing);
    assert.equal(changes.at(-1), true);
    assert.ok(reconnected > 0, 'reconnect listeners are told that a notification may be missing');
    await say(connection, `select pg_notify('news', 'two')`);
    await eventually(async () => heard.includes('two'));
    assert.equal(heard.includes('missed'), false);
  });

  test('a connection that the server ends makes it deaf at once', async (t) => {
    const { connection, drop } = await freshDatabase();
    t.after(drop);
    const listener = await listen({ connection, ...quick });
    t.after(() => listener.close());
    await eventually(async () => listener.hearing);
    const deaf = new Promise<boolean>((resolve) => listener.onChange((hearing) => resolve(!hearing)));
    await say(
      connection,
      `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'quarterdeck listen' and datname = current_database()`,
    );
    assert.equal(await deaf, true);
    await eventually(async () => listener.hearing);
  });

  test('a channel is not claimed to be heard before its LISTEN has taken effect', async (t) => {
    const { connection, drop } = await freshDatabase();
    t.after(drop);
    const listener = await listen({ connection, ...quick });
    t.after(() => listener.close());
    await eventually(async () => listener.hearing);
    const heard: string[] = [];
    const changed = new Promise<boolean>((resolve) => listener.onChange(resolve));
    listener.on('news', (payload) => heard.push(payload));
    assert.equal(listener.hearing, false);
    assert.equal(await changed, true); // caches filled meanwhile must be cleared
    assert.equal(listener.hearing, true);
    await say(connection, `select pg_notify('news', 'one')`);
    await eventually(async () => heard.includes('one'));
  });

  test('a reconnect that stalls between two channels is no hearing: it begins anew until every channel has answered', async (t) => {
    const { connection, drop } = await freshDatabase();
    t.after(drop);
    const link = await cutLink(t, { path: join(String(connection.host), `.s.PGSQL.${connection.port}`) });
    const listener = await listen({ connection: { ...connection, host: '127.0.0.1', port: link.port }, ...patient });
    t.after(() => listener.close());
    const heard: string[] = [];
    for (const channel of ['first', 'second', 'third']) listener.on(channel, (payload) => heard.push(payload));
    await eventually(async () => listener.hearing);

    link.stallAt('listen "second"');
    const before = link.taken();
    link.mend(); // as after a restart of the database: it notices at once that its connection is gone
    await eventually(async () => link.taken() >= before + 2); // the stalled connection was dropped, and another opened
    link.thaw(); // the delayed reply arrives after all
    await eventually(async () => listener.hearing);
    await eventually(async () => {
      // Repeatedly: on a busy machine it replaces a slow connection in between.
      await say(connection, `select pg_notify(channel, channel) from unnest(array['first', 'second', 'third']) channel`);
      return new Set(heard).size === 3;
    });
  });

  test('a channel whose LISTEN is never answered makes it deaf, and is listened to on the next connection', async (t) => {
    const { connection, drop } = await freshDatabase();
    t.after(drop);
    const link = await cutLink(t, { path: join(String(connection.host), `.s.PGSQL.${connection.port}`) });
    const listener = await listen({ connection: { ...connection, host: '127.0.0.1', port: link.port }, ...patient });
    t.after(() => listener.close());
    await eventually(async () => listener.hearing);
    link.stallAt('listen "late"');
    const before = link.taken();
    const heard: string[] = [];
    listener.on('late', (payload) => heard.push(payload));
    assert.equal(listener.hearing, false);
    await eventually(async () => link.taken() > before);
    await eventually(async () => listener.hearing);
    await eventually(async () => {
      await say(connection, `select pg_notify('late', 'one')`);
      return heard.includes('one');
    });
  });

  test('listeners are called outside the driver, and may add channels from there', async (t) => {
    const { connection, drop } = await freshDatabase();
    t.after(drop);
    const listener = await listen({ connection, ...quick });
    t.after(() => listener.close());
    const heard: string[] = [];
    const inside: boolean[] = [];
    listener.on('news', () => {
      inside.push(/node_modules/.test(new Error().stack ?? ''));
      listener.on('more', (payload) => heard.push(payload));
    });
    listener.onChange(() => inside.push(/node_modules/.test(new Error().stack ?? '')));
    await eventually(async () => listener.hearing);
    await say(connection, `select pg_notify('news', '')`);
    await eventually(async () => inside.length > 1 && listener.hearing);
    await say(connection, `select pg_notify('more', 'x')`);
    await eventually(async () => heard.includes('x'));
    assert.equal(inside.includes(true), false, 'a listener ran inside the driver');
  });

  test('after close it holds no connection, not even one that it was just making', async (t) => {
    const { connection, drop } = await freshDatabase();
    t.after(drop);
    const link = await cutLink(t, { path: join(String(connection.host), `.s.PGSQL.${connection.port}`) });
    const listener = await listen({ connection: { ...connection, host: '127.0.0.1', port: link.port }, heartbeatMs: 20, deafAfterMs: 100 });
    const ours = `from pg_stat_activity where application_name = 'quarterdeck listen' and datname = current_database()`;
    await eventually(async () => listener.hearing);
    link.cut();
    await eventually(async () => !listener.hearing);
    await eventually(async () => link.taken() > 1); // it reconnects
    await listener.close();
    link.thaw();
    await eventually(async () => (await say(connection, `select 1 ${ours}`)).length === 0, { withinMs: 3_000 });
  });
});

test('between two beats the clock alone says that it is deaf', async (t) => {
  const { connection, drop } = await freshDatabase();
  t.after(drop);
  const listener = await listen({ connection, heartbeatMs: 3_600_000, deafAfterMs: 3_000 });
  t.after(() => listener.close());
  await eventually(async () => listener.hearing);
  const real = performance.now.bind(performance);
  let ahead = 2_000;
  t.mock.method(performance, 'now', () => real() + ahead);
  assert.equal(listener.hearing, true);
  ahead = 3_001;
  assert.equal(listener.hearing, false);
});
