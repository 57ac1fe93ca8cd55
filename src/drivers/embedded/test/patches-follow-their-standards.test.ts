import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ApiError } from '../../status.ts';
import { applyJsonPatch } from '../rules/patch/json-patch.ts';
import { applyMergePatch } from '../rules/patch/merge-patch.ts';
import { applyStrategicPatch } from '../rules/patch/strategic-patch.ts';
import { messageNamed } from '../rules/schema/messages.ts';

type Json = null | string | number | Json[] | { [name: string]: Json };
const names = fc.constantFrom('a', 'b', 'c', '__proto__', 'x/y', '~');
const { json } = fc.letrec<{ json: Json }>((tie) => ({
  json: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom(null, 'x', 1),
    fc.array(tie('json'), { maxLength: 3 }),
    fc.dictionary(names, tie('json'), { maxKeys: 3 }),
  ) as fc.Arbitrary<Json>,
}));
const plain = (value: unknown): value is Record<string, Json> => typeof value === 'object' && value !== null && !Array.isArray(value);
const text = (value: unknown): string =>
  JSON.stringify(value, (_k, part) => (plain(part) ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1))) : part));

/** A merge patch from one document to the other; neither holds null. */
function diff(from: Json, to: Json): Json {
  if (!plain(from) || !plain(to)) return to;
  const patch = new Map<string, Json>();
  for (const name of Object.keys(from)) if (!Object.hasOwn(to, name)) patch.set(name, null);
  for (const [name, value] of Object.entries(to))
    if (!Object.hasOwn(from, name)) patch.set(name, value);
    else if (text(from[name]) !== text(value)) patch.set(name, diff(from[name]!, value));
  return Object.fromEntries(patch);
}
const withoutNull = (value: Json): Json =>
  Array.isArray(value)
    ? value.filter((one) => one !== null).map(withoutNull)
    : plain(value)
      ? Object.fromEntries(Object.entries(value).flatMap(([name, one]) => (one === null ? [] : [[name, withoutNull(one)]])))
      : (value ?? 'null');

const node = messageNamed('core.Node');
const conditions = fc.uniqueArray(
  fc.record({ type: fc.constantFrom('Ready', 'Disk', 'Memory', 'Pid'), status: fc.constantFrom('True', 'False') }),
  {
    selector: ({ type }) => type,
  },
);

test('patches follow their standards', () => {
  // RFC 7396: the computed patch leads from one document to the other, and is idempotent.
  fc.assert(
    fc.property(json, json, (a, b) => {
      const [from, to] = [withoutNull(a), withoutNull(b)];
      const patch = diff(from, to);
      if (!plain(patch)) return;
      const once = applyMergePatch(structuredClone(from), patch);
      assert.equal(text(once), text(plain(from) ? to : withoutNull(patch)));
      assert.equal(text(applyMergePatch(once, patch)), text(once));
    }),
    { numRuns: 500 },
  );

  // RFC 6902: `remove` undoes `add`; a `test` that holds changes nothing; one that fails is refused.
  fc.assert(
    fc.property(fc.dictionary(names, json), names, json, (from, name, value) => {
      const path = `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
      const added = applyJsonPatch(structuredClone(from), [{ op: 'add', path, value }]);
      assert.equal(text(applyJsonPatch(structuredClone(added), [{ op: 'test', path, value }])), text(added));
      const { [name]: _gone, ...rest } = Object.fromEntries(Object.entries(from));
      const expected = Object.fromEntries(Object.entries(from).filter(([key]) => key !== name));
      assert.equal(text(applyJsonPatch(structuredClone(added), [{ op: 'remove', path }])), text(expected), text(rest));
    }),
    { numRuns: 500 },
  );
  const doc = { list: [1, 2, 3], map: { a: 'x' } };
  const apply = (...patch: unknown[]) => applyJsonPatch(structuredClone(doc), patch);
  assert.deepEqual(apply({ op: 'add', path: '/list/1', value: 9 }), { ...doc, list: [1, 9, 2, 3] });
  assert.deepEqual(apply({ op: 'add', path: '/list/-', value: 9 }), { ...doc, list: [1, 2, 3, 9] });
  assert.deepEqual(apply({ op: 'move', from: '/map/a', path: '/b' }), { list: [1, 2, 3], map: {}, b: 'x' });
  assert.deepEqual(apply({ op: 'replace', path: '/list/2', value: 0 }), { ...doc, list: [1, 2, 0] });
  const wrong = [
    { op: 'remove', path: '/no' },
    { op: 'test', path: '/map/a', value: 'y' },
    { op: 'add', path: '/list/7', value: 1 },
    { op: 'add', path: 'list', value: 1 },
    { op: 'replace', path: '/list/-', value: 1 },
    { op: 'move', from: '/map', path: '/map/a' },
    { op: 'remove', path: '/constructor' },
    { op: 'x', path: '' },
    null,
  ];
  for (const operation of wrong) assert.throws(() => apply(operation), ApiError, JSON.stringify(operation));
  fc.assert(fc.property(json, json, (from, patch) => refusesOrApplies(() => applyJsonPatch(structuredClone(from), patch))));

  // Strategic: lists with a merge key merge item by item; other lists are replaced.
  fc.assert(
    fc.property(conditions, conditions, (has, patch) => {
      const result = applyStrategicPatch({ status: { conditions: has } }, { status: { conditions: patch } }, node) as {
        status: { conditions: { type: string }[] };
      };
      const model = new Map(has.map((one) => [one.type, one]));
      for (const one of patch) model.set(one.type, one);
      assert.equal(text(result.status.conditions), text([...model.values()]));
    }),
  );
  const taints = { spec: { taints: [{ key: 'a', effect: 'NoSchedule' }] } };
  assert.deepEqual(applyStrategicPatch(taints, { spec: { taints: [{ key: 'b', effect: 'NoSchedule' }] } }, node), {
    spec: { taints: [{ key: 'b', effect: 'NoSchedule' }] },
  });
  const two = { status: { conditions: [{ type: 'A', status: 'True' }, { type: 'B' }] } };
  assert.deepEqual(applyStrategicPatch(two, { status: { conditions: [{ $patch: 'delete', type: 'A' }] } }, node), {
    status: { conditions: [{ type: 'B' }] },
  });
  assert.deepEqual(
    applyStrategicPatch(two, { status: { $setElementOrder: [], '$setElementOrder/conditions': [{ type: 'B' }, { type: 'A' }] } }, node),
    {
      status: { conditions: [{ type: 'B' }, { type: 'A', status: 'True' }] },
    },
  );
  const finalizers = { metadata: { finalizers: ['x/a', 'x/b'] } };
  assert.deepEqual(
    applyStrategicPatch(finalizers, { metadata: { '$deleteFromPrimitiveList/finalizers': ['x/a'], finalizers: ['x/c'] } }, node),
    {
      metadata: { finalizers: ['x/b', 'x/c'] },
    },
  );
  assert.deepEqual(
    applyStrategicPatch({ spec: { podCIDR: 'x', providerID: 'y' } }, { spec: { $retainKeys: ['podCIDR'], podCIDR: 'z' } }, node),
    { spec: { podCIDR: 'z' } },
  );
  assert.throws(() => applyStrategicPatch({}, { status: { conditions: [{ status: 'True' }] } }, node), ApiError, 'no merge key');
  fc.assert(fc.property(json, json, (from, patch) => refusesOrApplies(() => applyStrategicPatch(from, patch, node))));
});

function refusesOrApplies(act: () => unknown): void {
  try {
    act();
  } catch (error) {
    assert.ok(error instanceof ApiError, String(error));
  }
  assert.equal(({} as Record<string, unknown>)['a'], undefined, 'nothing leaks into every object');
}
