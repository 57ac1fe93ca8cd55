import { test } from 'node:test';
import { task } from '../../index.ts';
import { eventually, workbench } from '../support.ts';

test('a task that is under way when the clock moves runs again', async (t) => {
  const { advance, worker } = await workbench(t);
  const held = Promise.withResolvers<void>();
  let runs = 0;
  const compare = task('area.compare', { everySeconds: 86_400, deadlineSeconds: 60 }, async () => {
    if (++runs === 1) await held.promise;
  });
  worker([], { tasks: [compare] });
  await eventually('it runs', () => runs === 1);
  await advance(60);
  held.resolve();
  await eventually('it has seen the new time', () => runs === 2);
});
