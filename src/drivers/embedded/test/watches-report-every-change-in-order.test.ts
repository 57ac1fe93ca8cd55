import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { configMap, embedded, openWatch, type WatchEvent } from './support.ts';

const maps = '/api/v1/namespaces/default/configmaps';
const merge = { 'content-type': 'application/merge-patch+json' };

type Step = { act: 'put' | 'delete' | 'cut'; name: string; team: string };
const steps = fc.array(
  fc.record<Step>({
    act: fc.constantFrom('put', 'put', 'put', 'delete', 'cut'),
    name: fc.constantFrom('a', 'b', 'c', 'd'),
    team: fc.constantFrom('x', 'y'),
  }),
  { minLength: 10, maxLength: 40 },
);

/** The state of a client that trusts its watch: names and versions. */
function believe(known: Map<string, string>, { type, object }: WatchEvent): void {
  const { name, resourceVersion } = object.metadata;
  if (type === 'ADDED') assert.ok(!known.has(name), `${name} came twice`);
  else assert.ok(known.has(name), `${type} of ${name}, which was not there`);
  if (type === 'DELETED') known.delete(name);
  else known.set(name, resourceVersion);
}

test('watches report every change in order, across disconnects', async (t) => {
  const { call, port, ca, admin, another } = await embedded(t);
  const other = await another();
  const servers = [
    { port, call },
    { port: other.port, call: other.as(admin) },
  ];
  // Other watches keep the change feed running, so that new ones may find it behind the version that they know.
  for (const { port: at } of servers) openWatch(at, ca, admin, `${maps}?watch=1`);
  for (const query of ['', '&labelSelector=team%3Dx']) {
    await fc.assert(
      fc.asyncProperty(steps, async (plan) => {
        for (const { metadata } of (await call('GET', maps)).body.items) await call('DELETE', `${maps}/${metadata.name}`);
        const known = new Map<string, string>();
        let version = (await call('GET', maps)).body.metadata.resourceVersion as string;
        let turn = 0;
        let watch = openWatch(port, ca, admin, `${maps}?watch=1&resourceVersion=${version}${query}`);
        let taken = 0;
        const take = () => {
          for (const event of watch.events.slice(taken)) {
            believe(known, event);
            assert.ok(Number(event.object.metadata.resourceVersion) > Number(version), 'in order');
            version = event.object.metadata.resourceVersion;
          }
          taken = watch.events.length;
        };
        const list = async () =>
          (await call('GET', `${maps}?${query.slice(1)}`)).body.items as { metadata: { name: string; resourceVersion: string } }[];
        for (const { act, name, team } of plan) {
          const server = servers[turn++ % 2]!;
          if (act === 'delete') await server.call('DELETE', `${maps}/${name}`);
          else if (act === 'put') {
            const changed = await server.call(
              'PATCH',
              `${maps}/${name}`,
              { metadata: { labels: { team } }, data: { turn: String(turn) } },
              merge,
            );
            if (changed.status === 404) await server.call('POST', maps, configMap(name, {}, { team }));
          } else {
            watch.close();
            await watch.ended;
            take();
            watch = openWatch(server.port, ca, admin, `${maps}?watch=1&resourceVersion=${version}${query}`);
            taken = 0;
          }
        }
        // A last change that every watch sees marks the end.
        await call('POST', maps, configMap('end', {}, { team: 'x' }));
        while (!watch.events.some(({ object }) => object.metadata.name === 'end')) await watch.until(watch.events.length + 1);
        take();
        watch.close();
        assert.deepEqual(
          Object.fromEntries(known),
          Object.fromEntries((await list()).map(({ metadata }) => [metadata.name, metadata.resourceVersion])),
        );
      }),
      { numRuns: 4 },
    );
  }
});
