import { test } from 'node:test';
import { areasApart } from './areas-apart.ts';
import { answersAsCommitted } from './compare.ts';

test('operations of the larger areas answer each caller as the committed matrix says', (t) =>
  answersAsCommitted(t, (area) => areasApart.has(area)));
