import assert from 'node:assert/strict';
import { test } from 'node:test';
import { askOften, maps } from '../process/request-loop.ts';
import { watchFrom } from '../process/support.ts';
import { kube } from '../support.ts';
import { machines, seeded } from './support.ts';

test('a server that stops hands its clusters to another one of the same machine, and no request fails', async (t) => {
  const qd = await machines(t);
  const first = await qd.startShard('first');
  const ways = [await seeded(qd, 'one'), await seeded(qd, 'two')];
  const second = await qd.startShard('second');
  const loops = ways.map((way) => askOften(way, 'm', 4));
  const watch = watchFrom(ways[0]!, maps);
  const asked = () => loops.reduce((sum, { seen }) => sum + seen.sent, 0);
  const until = async (count: number) => {
    while (asked() < count) await new Promise((later) => setTimeout(later, 20));
  };
  await until(100);

  assert.equal(await first.stopped(), 0);
  const timesSaid = () => second.stderr().split('a cluster was handed over to this server').length - 1;
  assert.equal(timesSaid(), ways.length, 'before the other one had ended');
  await until(asked() + 100);
  await Promise.all(loops.map((loop) => loop.stop()));
  t.diagnostic(`${asked()} requests; the slowest took ${Math.round(Math.max(...loops.map(({ seen }) => seen.slowestMs)))} ms`);
  for (const { failures } of loops) assert.deepEqual(failures, []);

  // The watch went on at the other server, and nothing is missing in it.
  const listed = (await kube(ways[0]!, 'GET', maps)).body.items.map(({ metadata }: { metadata: { name: string } }) => metadata.name);
  while (listed.some((name: string) => !watch.names().has(name))) await new Promise((later) => setTimeout(later, 20));
  watch.stop();
  assert.equal(watch.cuts(), 0, 'it ended, and was not cut');
  await second.stopped();
});
