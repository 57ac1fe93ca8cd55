import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { App } from '../../../../kernel/app.ts';
import { currentContext, runFor, systemContext, type WorkContext } from '../../../../kernel/fairness/index.ts';
import { makePullMarks } from '../../engine/pull-marks.ts';

test('pull marks are written on behalf of the system, not of the first puller', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const wrote: WorkContext[] = [];
  const app = {
    caches: { make: () => ({ peek: () => undefined, get: async () => {} }) },
    db: {
      read: async () => {
        wrote.push(currentContext());
      },
    },
  } as unknown as App;
  const mark = makePullMarks(app);
  runFor({ org: 'org_first', operation: 'oci manifest' }, () => mark(1));
  runFor({ org: 'org_second', operation: 'oci manifest' }, () => mark(2));
  // The mocked timer runs in the context of the tick; a real one in the context that set it.
  runFor({ org: 'org_first', operation: 'oci manifest' }, () => t.mock.timers.tick(1_000));
  assert.deepEqual(wrote, [systemContext]);
});
