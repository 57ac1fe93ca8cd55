import assert from 'node:assert/strict';
import { once } from 'node:events';
import { chmod, writeFile } from 'node:fs/promises';
import { type AddressInfo, connect, createServer } from 'node:net';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { examine } from '../../src/admin/doctor/examine.ts';
import { openExternal } from '../../src/boot/external.ts';
import { readConfig } from '../../src/kernel/config.ts';
import { Stop } from '../../src/kernel/errors.ts';
import { makeLog } from '../../src/kernel/log.ts';
import { freePort } from '../harness/free-port.ts';
import { freshDatabase, stopOwnServer } from '../harness/postgres.ts';
import { daemon, lacking, openFolder } from './email-support.ts';

after(stopOwnServer);

test('PgBouncer in transaction mode is refused by name, however it was set up, and the doctor says so', {
  skip: lacking('pgbouncer'),
}, async (t) => {
  const { connection, drop } = await freshDatabase();
  t.after(drop);
  const { host, user, port: postgresPort = 5432, database } = connection;
  // PgBouncer refuses to run as root, and nobody else may enter the directory of the socket.
  const relay = createServer((from) => {
    const to = connect(join(String(host), `.s.PGSQL.${postgresPort}`));
    from
      .on('error', () => to.destroy())
      .pipe(to)
      .on('error', () => from.destroy())
      .pipe(from);
  }).listen(0, '127.0.0.1');
  await once(relay, 'listening');
  t.after(() => relay.close());
  const relayed = (relay.address() as AddressInfo).port;
  const asNobody = process.getuid?.() === 0 ? ['-u', 'nobody'] : [];
  for (const ignored of [
    'extra_float_digits',
    'extra_float_digits,options,statement_timeout,lock_timeout,idle_in_transaction_session_timeout',
  ]) {
    const folder = await openFolder(t);
    const port = await freePort();
    const settings = [
      '[databases]',
      `${database} = host=127.0.0.1 port=${relayed} user=${user}`,
      '[pgbouncer]',
      `listen_addr = 127.0.0.1\nlisten_port = ${port}\nunix_socket_dir =\nauth_type = any\npool_mode = transaction`,
      `ignore_startup_parameters = ${ignored}`,
    ];
    await writeFile(join(folder, 'pgbouncer.ini'), `${settings.join('\n')}\n`);
    await chmod(folder, 0o755);
    await daemon(t, port, 'pgbouncer', [...asNobody, join(folder, 'pgbouncer.ini')]);
    const { config } = readConfig(
      { QUARTERDECK_DATABASE_URL: `postgresql://${user}:hunter2@127.0.0.1:${port}/${database}`, QUARTERDECK_DATA: folder },
      folder,
    );
    const byName = /QUARTERDECK_DATABASE_URL leads to a pooler in transaction mode, such as PgBouncer, .* give PostgreSQL’s own address/;
    await assert.rejects(openExternal(config, makeLog('silent')), (error) => {
      assert.ok(error instanceof Stop, String(error));
      assert.match(error.message, byName);
      return true;
    });
    const findings = await examine(config, async () => 'none');
    assert.ok(
      findings.some((f) => f.verdict === 'fail' && byName.test(f.says)),
      JSON.stringify(findings),
    );
  }
});
