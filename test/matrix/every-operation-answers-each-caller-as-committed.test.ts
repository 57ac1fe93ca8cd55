import { test } from 'node:test';
import { areasApart } from './areas-apart.ts';
import { answersAsCommitted } from './compare.ts';

test('every operation answers each caller as the committed matrix says', (t) => answersAsCommitted(t, (area) => !areasApart.has(area)));
