import { test } from 'node:test';
import { stress } from '../gc-stress.ts';

// One second, or until the minimum activity is reached; `npm run test:faults` runs a minute of each.
const least = { pushed: 10, deleted: 4, collected: 20 };

test('with no delay at all, garbage collection takes nothing that a live image needs', (t) => stress(t, 1_000, { least }));

test('nor when two servers collect what both of them store', (t) => stress(t, 1_000, { servers: 2, least }));
