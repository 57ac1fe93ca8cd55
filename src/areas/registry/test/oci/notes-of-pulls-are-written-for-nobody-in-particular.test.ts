import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { App } from '../../../../kernel/app.ts';
import { type Behalf, currentBehalf, house, onBehalf } from '../../../../kernel/shares/index.ts';
import { makePullMarks } from '../../engine/pull-marks.ts';

test('notes of pulls are written on behalf of the house, whoever pulled first', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const wrote: Behalf[] = [];
  const app = {
    caches: { make: () => ({ peek: () => undefined, get: async () => {} }) },
    db: {
      read: async () => {
        wrote.push(currentBehalf());
      },
    },
  } as unknown as App;
  const mark = makePullMarks(app);
  onBehalf({ org: 'org_first', act: 'oci manifest' }, () => mark(1));
  onBehalf({ org: 'org_second', act: 'oci manifest' }, () => mark(2));
  // The mocked timer runs where it is ticked; a real one where it was set.
  onBehalf({ org: 'org_first', act: 'oci manifest' }, () => t.mock.timers.tick(1_000));
  assert.deepEqual(wrote, [house]);
});
