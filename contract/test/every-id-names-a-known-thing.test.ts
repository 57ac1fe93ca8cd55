import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Field } from '../../sdk/commands.ts';
import { readCommands } from '../../sdk/commands.ts';
import { markThings } from '../../sdk/generate/things.ts';
import { contract } from '../index.ts';
import { creations, losses, waits, watches } from '../outcomes.ts';
import { fieldThings, noThings, pathThings, things } from '../things.ts';

const operations = new Map(contract.map((op) => [op.id, op]));
const { commands } = readCommands();

/** Every field of a command, however deep, with the words to find it. */
const deep = (fields: Field[], at: string): [string, Field][] =>
  fields.flatMap((field) => [[`${at} ${field.name}`, field] as [string, Field], ...deep(field.fields ?? [], `${at} ${field.name}`)]);

test('every path parameter and every field that takes an id names a thing of contract/things.ts', () => {
  const unknown = commands.flatMap((command) => {
    const { id, path } = operations.get(command.operation)!;
    const marked = markThings(command, { id, path }, { pathThings, fieldThings });
    return [...deep(marked.params, `${id} <path>`), ...deep(marked.fields, id)]
      .filter(([at, field]) => at.includes('<path>') || /^id$|Ids?$/.test(field.name))
      .filter(([, field]) => field.thing === undefined && !Object.hasOwn(noThings, field.name))
      .map(([at]) => at);
  });
  assert.deepEqual(unknown, [], 'add each to pathThings, fieldThings or noThings of contract/things.ts');
});

test('what the tables name exists, and nothing is named in vain', () => {
  const kinds = [
    ...Object.values(pathThings),
    ...Object.values(fieldThings).flatMap((kind) => (typeof kind === 'string' ? kind : Object.values(kind.of))),
  ];
  for (const kind of [...kinds, ...Object.values(creations).map((c) => c.thing), ...Object.values(losses).flatMap((l) => l.thing ?? [])])
    assert.ok(Object.hasOwn(things, kind), kind);
  for (const kind of Object.keys(things)) assert.ok(kinds.includes(kind), `${kind} is not used`);
  for (const [kind, { list }] of Object.entries(things)) {
    if (!list) continue;
    const spec = operations.get(list.operation);
    const answer = spec?.responses[200] as { properties?: Record<string, { items?: { properties?: object } }> } | undefined;
    const item = answer?.properties?.[list.items]?.items?.properties;
    assert.ok(item, `${kind}: ${list.operation} answers with no list called ${list.items}`);
    const { id, names = [], alsoIds = [] } = things[kind]!;
    for (const field of [id, ...names, ...alsoIds]) assert.ok(field in item, `${kind}: ${field} is not in ${list.operation}`);
  }
  for (const path of Object.keys(pathThings))
    assert.ok(
      contract.some((op) => op.path.startsWith(path)),
      path,
    );
  for (const [operation, { watch }] of Object.entries(waits)) {
    assert.ok(operations.has(operation), operation);
    assert.ok(operations.has(watches[watch]!.look), watch);
  }
});

test('every delete says what is lost, every create of a thing what was made', () => {
  for (const op of contract) {
    if (op.method === 'DELETE') assert.ok(losses[op.id], `${op.id} needs an entry in losses of contract/outcomes.ts`);
    if (op.method === 'POST' && /^create/.test(op.id) && !['createJoinToken', 'createDeviceCode'].includes(op.id))
      assert.ok(creations[op.id], `${op.id} needs an entry in creations of contract/outcomes.ts`);
  }
  for (const [operation, { next }] of Object.entries(creations))
    for (const command of next) {
      const typed = command.split(' ');
      if (['join', 'open'].includes(typed[0]!)) continue;
      const known = commands.find(({ words }) => words.every((word, n) => typed[n] === word));
      assert.ok(known, `${operation}: no such command as ${command}`);
      const flags = [...known.fields.map(({ flag }) => flag), 'help', 'wait', 'only', 'token'];
      for (const [, flag] of command.matchAll(/ --([a-z-]+)/g))
        assert.ok(flags.includes(flag!) || flags.includes(`${flag}s`), `${command}: there is no --${flag}`);
    }
  for (const operation of [...Object.keys(losses), ...Object.keys(creations)]) assert.ok(operations.has(operation), operation);
});
