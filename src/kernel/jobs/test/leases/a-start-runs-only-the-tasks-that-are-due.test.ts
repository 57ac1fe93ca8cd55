import assert from 'node:assert/strict';
import { test } from 'node:test';
import { channelNamed, startWorker, task, wake } from '../../index.ts';
import { eventually, makeApp, workbench } from '../support.ts';

test('a process that starts runs the tasks that are due, and leaves alone what another has done lately', async (t) => {
  const { connection, defer, sql } = await workbench(t);
  const runs: string[] = [];
  const tasksOf = (who: string) => [
    task('area.daily', { everySeconds: 86_400, deadlineSeconds: 60 }, async () => void runs.push(`daily ${who}`)),
    task('area.woken', { everySeconds: 86_400, deadlineSeconds: 60 }, async () => void runs.push(`woken ${who}`)),
  ];
  const start = async (who: string) => {
    const { app, close } = await makeApp(connection);
    defer(close);
    await eventually('it hears', () => app.listener.hearing);
    const worker = startWorker({ app, jobs: [], tasks: tasksOf(who) });
    defer(() => worker.stop({ graceMs: 0 }));
    // Areas listen to channels of their own once they are opened, also while the worker runs already.
    const listened = new Promise<void>((resolve) => app.listener.onChange((hearing) => hearing && resolve()));
    app.listener.on('one more', () => {});
    await listened;
    return { app, worker };
  };

  const first = await start('first');
  await eventually(
    'both are on record',
    async () => (await sql(`select 1 from kernel.task where name like 'area.%' and last_ok is not null`)).length === 2,
  );
  assert.deepEqual(runs.sort(), ['daily first', 'woken first']);
  await first.worker.stop();

  const second = await start('second');
  await second.app.db.write(async (tx) => wake(tx, channelNamed('area.woken')));
  await eventually('the one that was woken ran', () => runs.includes('woken second'));
  assert.equal(runs.includes('daily second'), false, 'the other had its turn, and its next is a day away');
});
