import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import http from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { test } from 'node:test';
import { freshDatabase, stopOwnServer } from '../../../test/harness/postgres.ts';
import { assertNoOutbound, openDb, run, type Tx } from '../db/index.ts';

test('a transaction that reaches outside the database is found in tests, and nothing of it is kept', async (t) => {
  const { connection, drop } = await freshDatabase({ empty: true });
  const db = openDb({ connection, max: 1, checkRows: true });
  const server = http.createServer((_request, response) => response.end('yes')).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(async () => {
    server.closeAllConnections();
    server.close();
    await db.end();
    await drop();
    await stopOwnServer();
  });
  await db.read((tx) => run(tx)`create table item (n int primary key)`);
  const { port } = server.address() as AddressInfo;
  const ask = async () => (await fetch(`http://127.0.0.1:${port}/`)).text();
  const inTransaction = (work: (tx: Tx) => Promise<void>) => db.write((tx) => assertNoOutbound(tx, () => work(tx)));
  const ways: Record<string, () => Promise<unknown>> = {
    fetch: ask,
    'a request by node:http': async () => (await once(http.get({ port, host: '127.0.0.1' }), 'response'))[0].resume(),
    'a connection': async () => {
      const socket = connect(port, '127.0.0.1');
      await once(socket, 'connect');
      socket.destroy();
    },
    'a datagram': async () => createSocket('udp4').close(),
  };
  for (const [name, reach] of Object.entries(ways)) {
    const write = inTransaction(async (tx) => {
      await run(tx)`insert into item values (1)`;
      await reach();
    });
    await assert.rejects(write, /a transaction reaches outside the database/, name);
    assert.equal(await db.read((tx) => run(tx)`select from item`), 0, name);
  }

  // Before and afterwards.
  await ask();
  let later: Promise<string> | undefined;
  await inTransaction(async (tx) => {
    await run(tx)`insert into item values (2)`;
    tx.afterCommit(() => (later = ask()));
  });
  assert.equal(await later, 'yes');
});
