import { test } from 'node:test';
import { stress } from '../gc-stress.ts';

test('with no delay at all, garbage collection takes nothing that a live image needs', (t) => stress(t, 4_000));

test('nor when two servers collect what both of them store', (t) => stress(t, 4_000, { servers: 2 }));
