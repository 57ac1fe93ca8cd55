import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
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
