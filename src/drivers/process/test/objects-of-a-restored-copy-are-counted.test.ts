import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import fc from 'fast-check';
import { askCluster } from '../clients/ask.ts';
import { countObjects, type Read } from '../engine/count-objects.ts';
import { keysOfRows } from '../engine/kine-store.ts';
import { bytesOf, columnsOf } from '../rules/copy-text.ts';
import { expectedObjects, folderOf, listingsOf } from '../rules/count-objects.ts';

test('built-in objects are counted by all their keys, custom ones where they are listed', () => {
  const keys = [
    '/registry/configmaps/default/a',
    '/registry/services/specs/default/a',
    '/registry/services/endpoints/default/a',
    '/registry/minions/n',
    '/registry/health',
    '/registry/ranges/serviceips',
    '/registry/events/default/e',
    '/registry/stable.example.com/crontabs/default/c',
    '/registry/gone.example.com/things/default/t',
  ];
  const folders = new Map<string, number>();
  for (const key of keys) folders.set(folderOf(key), (folders.get(folderOf(key)) ?? 0) + 1);
  const verbs = ['list'];
  const listings = [
    ...listingsOf('v1', [
      { name: 'configmaps', verbs },
      { name: 'pods/status', verbs },
      { name: 'bindings', verbs: ['create'] },
      { name: 'events', verbs },
    ]),
    ...listingsOf('stable.example.com/v2', [{ name: 'crontabs', verbs }]),
  ];
  assert.deepEqual(
    listings.map(({ path }) => path),
    ['/api/v1/configmaps', '/apis/stable.example.com/v2/crontabs'],
  );
  assert.equal(expectedObjects(folders, listings), 5);
});

const MiB = 2 ** 20;

/** The API of a cluster that has config maps whose metadata are so long. */
const apiWith = (sizes: readonly number[]) => {
  const answers: Record<string, object> = {
    '/apis': { groups: [] },
    '/api/v1': { resources: [{ name: 'configmaps', verbs: ['list'] }] },
    '/apis/apiregistration.k8s.io/v1/apiservices': { items: [] },
    '/apis/apiextensions.k8s.io/v1/customresourcedefinitions': { items: [] },
  };
  return (url: string): object => {
    const { pathname, searchParams } = new URL(url, 'http://cluster');
    if (pathname !== '/api/v1/configmaps') return answers[pathname]!;
    const from = Number(searchParams.get('continue') ?? 0);
    const to = from + Number(searchParams.get('limit'));
    const items = sizes.slice(from, to).map((bytes, n) => ({ metadata: { uid: `u${from + n}`, annotations: { a: 'x'.repeat(bytes) } } }));
    return { items, metadata: to < sizes.length ? { continue: String(to) } : {} };
  };
};

test('objects of any size are counted, in pages that are parsed in no time', async (t) => {
  const sizes = [...Array(230).fill(10), ...Array(30).fill(MiB), 5 * MiB, ...Array(300).fill(10), 3 * MiB];
  const api = apiWith(sizes);
  const server = http.createServer(({ url, headers }, response) => {
    if (url!.startsWith('/api/v1/configmaps'))
      assert.match(headers.accept!, /^application\/json;as=PartialObjectMetadataList;.*,application\/json$/);
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(api(url!)));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const large: string[] = [];
  let pages = 0;
  const read: Read = async (path, wanted) => {
    const answer = await askCluster((asked) => http.request({ host: '127.0.0.1', port, ...asked }), 'GET', path, undefined, wanted);
    pages++;
    if (answer.bytes! > 2 * MiB) large.push(new URL(path, 'http://cluster').searchParams.get('limit')!);
    return answer;
  };
  const folders = async () => new Map([['configmaps', sizes.length]]);
  assert.deepEqual(await countObjects(read, folders, t.signal), { listed: sizes.length, expected: sizes.length });
  assert.deepEqual(large, ['1', '1'], 'those that are too large are alone');
  assert.ok(pages < 120, `${pages} pages`);
});

test('a list that is refused, or has an object beyond measure, is not counted', async (t) => {
  const api = apiWith([10, 10]);
  const folders = async () => new Map([['configmaps', 2]]);
  for (const status of [503, 413]) {
    let asked = 0;
    const read: Read = async (path) => {
      if (!path.startsWith('/api/v1/configmaps')) return { status: 200, body: api(path) };
      asked++;
      return { status, body: {} };
    };
    await assert.rejects(countObjects(read, folders, t.signal), new RegExp(`answers ${status} to GET /api/v1/configmaps`));
    assert.ok(asked < 10, `asked ${asked} times`);
  }
});

/** As PostgreSQL writes a value. */
const written = (text: string) =>
  text.replace(/[\\\b\f\n\r\t\v]/g, (each) => `\\${({ '\b': 'b', '\f': 'f', '\n': 'n', '\r': 'r', '\t': 't', '\v': 'v' })[each] ?? each}`);

test('rows of a copy are read as they were written', async () => {
  assert.deepEqual(columnsOf('1\t\\N\ta\\tb'), ['1', null, 'a\tb']);
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.string({ unit: 'binary' }), fc.uint8Array()), { maxLength: 20 }),
      fc.integer({ min: 1, max: 50 }),
      async (rows, size) => {
        const objects = rows.map(([name, value]) => ({ key: `/registry/x/${name.replaceAll('\0', '')}`, value: Buffer.from(value) }));
        const lines = objects.map(({ key, value }, n) => `${n}\t${written(key)}\t1\t0\t0\t0\t${written(`\\x${value.toString('hex')}`)}\n`);
        const text = Buffer.from([...lines, `99\t/registry/events/default/e\t1\t0\t0\t3600\t\\\\x00\n`].join(''));
        const chunks = async function* () {
          for (let at = 0; at < text.length; at += size) yield text.subarray(at, at + size);
        };
        const found: { key: string; value: Buffer }[] = [];
        for await (const { key, value } of keysOfRows(chunks())) found.push({ key: key.toString(), value });
        assert.deepEqual(found, objects, 'without events');
      },
    ),
  );
  assert.deepEqual(bytesOf(null), Buffer.alloc(0));
});
