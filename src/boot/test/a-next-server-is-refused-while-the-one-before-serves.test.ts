import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { after, test } from 'node:test';
import pg from 'pg';
import { quarterdeck } from '../../../test/harness/index.ts';
import { stopOwnServer, urlOf } from '../../../test/harness/postgres.ts';
import { areas } from '../../areas/index.ts';
import { readConfig } from '../../kernel/config.ts';
import { exitCodes, Stop } from '../../kernel/errors.ts';
import { makeLog } from '../../kernel/log.ts';
import { checkNext } from '../check-next.ts';
import { connectParent, type ServerBefore } from '../parent.ts';

after(stopOwnServer);

test('what a next server refuses is found out while the one before serves', async (t) => {
  const qd = await quarterdeck(t);
  const at = new URL(qd.url);
  const before: ServerBefore = {
    data: qd.dataDir,
    isEmbedded: false,
    addresses: [{ name: 'http', host: at.hostname, port: 0, bound: Number(at.port) }],
  };
  const done: string[] = [];
  const check = (settings: Record<string, string>, facts: Partial<ServerBefore> = {}) => {
    const env = {
      QUARTERDECK_DATA: qd.dataDir,
      QUARTERDECK_DATABASE_URL: urlOf(qd.connection),
      QUARTERDECK_ROLES: 'api,worker',
      ...settings,
    };
    const parent = { ...connectParent({}), before: { ...before, ...facts }, doing: (what: string) => void done.push(what) };
    return checkNext(readConfig(env, '/').config, makeLog('silent'), areas, parent);
  };
  const refused = (exitCode: number, sentence: RegExp) => (error: unknown) => {
    assert.ok(error instanceof Stop, String(error));
    assert.match(error.message, sentence);
    return error.exitCode === exitCode;
  };

  // Its own address is not taken by another program.
  await check({ QUARTERDECK_LISTEN: at.host });
  assert.deepEqual(done, ['looking at the database', 'looking at the storage', 'waiting for the server before']);

  const other = createServer().listen(0, '127.0.0.1');
  t.after(() => other.close());
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  const { configuration, portTaken, databaseNewer } = exitCodes;
  await assert.rejects(
    check({ QUARTERDECK_LISTEN: `127.0.0.1:${port}` }),
    refused(portTaken, /cannot listen on .* \(EADDRINUSE\); set QUARTERDECK_LISTEN/),
  );
  await assert.rejects(check({ QUARTERDECK_DATA: '/elsewhere' }), refused(configuration, /QUARTERDECK_DATA was .* and is \/elsewhere now/));
  await assert.rejects(
    check({}, { isEmbedded: true }),
    refused(configuration, /does not change between the embedded PostgreSQL and another one/),
  );
  if (process.platform === 'linux') {
    // A file system without a free block.
    const full = check({ QUARTERDECK_DATA: '/proc' }, { data: '/proc' });
    await assert.rejects(full, refused(exitCodes.dataDirectory, /the disk at \/proc is full; free some space there, then reload/));
  }
  await assert.rejects(check({ QUARTERDECK_LISTEN: '0.0.0.0:0' }), refused(configuration, /without TLS would send tokens in the clear/));

  const client = new pg.Client(qd.connection);
  await client.connect();
  await client.query(`insert into kernel.migration (id, checksum) values ('kernel/9999_from_the_future', 'x')`).finally(() => client.end());
  await assert.rejects(check({}), refused(databaseNewer, /changed by a newer release/));
  assert.equal((await qd.owner.get('/tokens')).status, 200);
});
