import assert from 'node:assert/strict';
import { test } from 'node:test';
import { exitCodes, Stop } from '../../errors.ts';
import { keepPostgres, type PostgresEvent } from '../index.ts';
import { keeperProcess, query, scratch } from './support.ts';

test('a second keeper is refused and told the pid of the first, also after a backend has crashed', async (t) => {
  const { dataDir } = await scratch(t, { isMade: true });
  const regained = Promise.withResolvers<PostgresEvent>();
  const first = await keepPostgres({ dataDir, log: (event) => event.event === 'postgres.lock-regained' && regained.resolve(event) });
  t.after(() => first.stop());
  await assert.rejects(keepPostgres({ dataDir }), (error) => error instanceof Stop && error.exitCode === exitCodes.alreadyRunning);

  // PostgreSQL then ends all connections and restarts its processes; the lock is free for a moment.
  const [own] = await query(first.connection, `select pid from pg_stat_activity where application_name like 'quarterdeck keeper%'`);
  process.kill(own!.pid as number, 'SIGKILL');
  await regained.promise;

  const other = await keeperProcess(t, dataDir).said;
  assert.equal(other.kept, false);
  assert.equal(other.exitCode, exitCodes.alreadyRunning);
  assert.match(other.sentence!, new RegExp(`^Quarterdeck is already running here as pid ${process.pid}; `));
  assert.deepEqual(await query(first.connection, 'select 1 as alive'), [{ alive: 1 }], 'the refused ones harmed nothing');
});
