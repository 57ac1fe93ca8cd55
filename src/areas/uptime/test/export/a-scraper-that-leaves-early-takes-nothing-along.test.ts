import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { type TestContext, test } from 'node:test';
import pg from 'pg';
import { caller } from '../../../../../test/harness/index.ts';
import { eventually } from '../../../../../test/harness/process.ts';
import { makeScrapes, openScrape } from '../../engine/scrapes.ts';
import { desk, made } from '../agent-context.ts';

const path = '/uptime/export/metrics';

for (const [name, accept, encoding] of [
  ['OpenMetrics', 'application/openmetrics-text; version=1.0.0', 'identity'],
  ['packed OpenMetrics', 'application/openmetrics-text; version=1.0.0', 'gzip'],
  ['text', 'text/plain', 'identity'],
] as const)
  test(`scrapers that leave while their ${name} is gathered give their places back at once`, async (t) => {
    const { owner, url, connection } = await desk(t);
    const { token } = await made(owner.post('/uptime/export-tokens', { name: 'prometheus' }));
    const scraper = caller(url, token);
    await made(scraper.get(path));
    const database = new pg.Client(connection);
    await database.connect();
    try {
      await database.query('begin; lock table uptime.vantage_state in access exclusive mode');
      const waiting = `select 1 from pg_locks where relation = 'uptime.vantage_state'::regclass and not granted`;
      const { host, hostname, port } = new URL(url);
      for (let left = 1; left <= 3; left++) {
        const socket = connect(Number(port), hostname);
        socket.write(
          `GET /api/v1${path} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${token}\r\nAccept: ${accept}\r\nAccept-Encoding: ${encoding}\r\n\r\n`,
        );
        await eventually(async () => (await database.query(waiting)).rowCount === left);
        socket.destroy();
        await once(socket, 'close');
      }
      assert.equal((await scraper.get(path)).status, 429, 'three are gathered');
      await database.query('rollback');
      await eventually(async () => (await scraper.get(path)).status === 200);
    } finally {
      await database.end();
    }
  });

test('a scrape without a reader is ended after a minute, and the process goes on', async (t: TestContext) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const scrapes = makeScrapes();
  const stream = await openScrape(scrapes, 'org', async () =>
    (async function* () {
      yield 'never read';
    })(),
  );
  assert.equal(scrapes.get('org'), 1);
  // Not by `once` of node:events, which would listen for errors.
  const closed = new Promise<void>((resolve) => stream.once('close', resolve));
  t.mock.timers.tick(60_000);
  await closed;
  assert.equal(stream.destroyed, true);
  assert.equal(scrapes.size, 0);
});
