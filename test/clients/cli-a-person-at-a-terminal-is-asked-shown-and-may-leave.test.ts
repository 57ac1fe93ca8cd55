import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import pg from 'pg';
import { exitCodes } from '../../src/kernel/errors.ts';
import { migrationLock } from '../../src/kernel/migrate.ts';
import { type Quarterdeck, quarterdeck } from '../harness/index.ts';
import { freshDatabase, urlOf } from '../harness/postgres.ts';
import { eventually, scratch } from '../harness/process.ts';
import { lacking } from './email-support.ts';
import { linesOf, onTerminal } from './terminal.ts';

const ctrlC = '\u0003';
const skip = lacking('script', 'stty');

/** Both ways in which the program gets to its Node, each at one of the widths. */
const kinds = [
  { columns: 80, isOldNode: true },
  { columns: 110, isOldNode: false },
];

async function someone(t: TestContext, qd: Quarterdeck, kind: (typeof kinds)[number]) {
  const { dir } = await scratch(t);
  const env = { QUARTERDECK_URL: qd.url, QUARTERDECK_TOKEN: qd.owner.key };
  return (...args: string[]) => onTerminal(t, args, { ...kind, cwd: dir, env });
}

/** Sentences and tables stay within the terminal; commands, addresses and records stay whole for copying. */
function fits(said: string, columns: number) {
  for (const line of linesOf(said))
    if (!/next:|look with:|request id|https?:|^ +value /.test(line)) assert.ok([...line].length <= columns, `${columns}: ${line}`);
}

for (const kind of kinds) {
  const { columns } = kind;
  test(`at ${columns} columns a loss is asked for, and a wait is shown and left`, { skip }, async (t) => {
    const qd = await quarterdeck(t);
    const type = await someone(t, qd, kind);
    const names = async () => (await qd.owner.get('/tokens')).body.tokens.map(({ name }: { name: string }) => name);

    const made = type('tokens', 'create', '--name', 'shop');
    assert.equal(await made.ended, 0, made.said());
    const listed = type('tokens', 'list');
    assert.equal(await listed.ended, 0);
    assert.match(listed.said(), /shop/);

    const refused = type('tokens', 'delete', 'shop');
    await refused.shows(/Delete token shop .*\? \[y\/N\] /);
    refused.type('n\r');
    assert.equal(await refused.ended, exitCodes.usage, refused.said());
    assert.match(refused.said(), /quarterdeck: nothing was changed/);
    const left = type('tokens', 'delete', 'shop');
    await left.shows(/\[y\/N\] /);
    left.type(ctrlC);
    assert.equal(await left.ended, 130, left.said());
    assert.match(left.said(), /\r\nquarterdeck: interrupted: nothing was changed\r\n$/);
    assert.ok((await names()).includes('shop'));
    const deleted = type('tokens', 'delete', 'shop');
    await deleted.shows(/\[y\/N\] /);
    deleted.type('y\r');
    assert.equal(await deleted.ended, 0, deleted.said());
    assert.ok(!(await names()).includes('shop'));

    // Nothing answers for this name: the domain stays pending.
    const waiting = type('email', 'domains', 'create', '--name', 'mail.acme.example', '--wait');
    await waiting.shows(/⠹ domain mail\.acme\.example: pending \(\d+s\)/);
    waiting.type(ctrlC);
    assert.equal(await waiting.ended, 130, waiting.said());
    assert.match(
      linesOf(waiting.said()).join(' '),
      /quarterdeck: interrupted: the work goes on; look with: \S*quarterdeck email domains get mail\.acme\.example --wait $/,
      JSON.stringify(waiting.said()),
    );
    for (const terminal of [made, listed, refused, left, deleted, waiting]) fits(terminal.said(), columns);
  });

  test(`at ${columns} columns the log is followed until Ctrl-C`, { skip }, async (t) => {
    const { dir, dataDir } = await scratch(t);
    await mkdir(join(dataDir, 'log'), { recursive: true });
    await writeFile(
      join(dataDir, 'log', 'quarterdeck.log'),
      `${JSON.stringify({ level: 30, time: '2026-11-18T10:00:00.000Z', msg: 'ready' })}\n`,
    );
    const following = onTerminal(t, ['logs', '-f'], { ...kind, cwd: dir, env: { QUARTERDECK_DATA: dataDir } });
    await following.shows(/ready/);
    following.type(ctrlC);
    assert.equal(await following.ended, 130, following.said());
    assert.doesNotMatch(following.said(), /Error|quarterdeck:/);
  });
}

test('Ctrl-C in the middle of a restore leaves what no server starts from, and the same command ends it', { skip }, async (t) => {
  const qd = await quarterdeck(t);
  const { dir } = await scratch(t);
  const admin = (env: Record<string, string>, ...args: string[]) =>
    onTerminal(t, args, {
      columns: 80,
      isOldNode: true,
      cwd: dir,
      env: { QUARTERDECK_DNS_SERVERS: '127.0.0.1:1', QUARTERDECK_LISTEN: '127.0.0.1:0', ...env },
    });
  const saved = admin(
    { QUARTERDECK_DATABASE_URL: urlOf(qd.connection), QUARTERDECK_DATA: qd.dataDir },
    'admin',
    'backup',
    'saved',
    '--with-key',
  );
  assert.equal(await saved.ended, 0, saved.said());

  const { connection, drop } = await freshDatabase({ empty: true });
  t.after(drop);
  const target = { QUARTERDECK_DATABASE_URL: urlOf(connection), QUARTERDECK_DATA: join(dir, 'new') };
  const [watcher, first, second] = await Promise.all([1, 2, 3].map(() => connect(t, connection)));
  const restoring = admin(target, 'admin', 'restore', 'saved');
  // It asks three times for the lock of migrations: to make the tables, to mark itself, to put the rows back. The third time it waits.
  await eventually(async () => (await watcher!.query(`select to_regclass('kernel.migration') as there`)).rows[0].there !== null, {
    withinMs: 60_000,
  });
  await first!.query('select pg_advisory_lock($1)', [migrationLock]);
  await eventually(async () => (await waiters(watcher!)) === 1, { withinMs: 60_000 });
  const turn = second!.query('select pg_advisory_lock($1)', [migrationLock]);
  await eventually(async () => (await waiters(watcher!)) === 2);
  await first!.end();
  await turn;
  await eventually(async () => (await waiters(watcher!)) === 1);
  await restoring.shows(/putting objects back|making the tables/);
  restoring.type(ctrlC);
  assert.equal(await restoring.ended, 130, restoring.said());
  assert.match(restoring.said(), /quarterdeck: interrupted: no row is restored; the same command begins again/);
  await second!.end();

  const started = admin(target, 'serve');
  assert.equal(await started.ended, exitCodes.dataDirectory, started.said());
  assert.match(started.said(), /quarterdeck: a restore into this database has begun and not ended/);
  const again = admin(target, 'admin', 'restore', 'saved');
  assert.equal(await again.ended, 0, again.said());
  assert.deepEqual((await watcher!.query('select slug from identity.org')).rows, [{ slug: 'default' }]);
});

async function connect(t: TestContext, connection: pg.ClientConfig): Promise<pg.Client> {
  const client = new pg.Client(connection);
  await client.connect();
  client.on('error', () => {}); // its database may go first
  t.after(() => client.end().catch(() => {}));
  return client;
}

const waiters = async (client: pg.Client): Promise<number> =>
  (
    await client.query(
      `select count(*)::int as count from pg_locks where locktype = 'advisory' and not granted and database = (select oid from pg_database where datname = current_database())`,
    )
  ).rows[0].count;
