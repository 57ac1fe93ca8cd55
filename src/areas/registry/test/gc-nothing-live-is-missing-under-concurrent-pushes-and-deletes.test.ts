import { test } from 'node:test';
import { stress } from './gc-stress.ts';

test('with no delay at all, garbage collection takes nothing that a live image needs', (t) => stress(t, 8_000));
