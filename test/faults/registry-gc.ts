import { test } from 'node:test';
import { stress } from '../../src/areas/registry/test/gc-stress.ts';

test('a minute of pushes, pulls and deletes of shared layers under garbage collection without any delay', (t) => stress(t, 60_000));

test('a minute of the same with two servers on one store', (t) => stress(t, 60_000, { servers: 2 }));
