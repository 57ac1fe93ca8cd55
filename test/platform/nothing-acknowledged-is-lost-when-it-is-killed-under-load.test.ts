import { test } from 'node:test';
import { killUnderLoad } from './kill-under-load.ts';

// Each way once; `npm run test:faults` does it many times.
test('nothing acknowledged is lost when it is killed under load', (t) => killUnderLoad(t, 2));
