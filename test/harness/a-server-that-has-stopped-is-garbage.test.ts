import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { quarterdeck } from './index.ts';

let app: WeakRef<object>;

// A process of the runner starts some hundred servers one after the other. What keeps one of them, keeps all.
test('a server is started, asked and stopped', async (t) => {
  const qd = await quarterdeck(t);
  app = new WeakRef(qd.app);
  assert.equal((await qd.owner.get('/tokens')).status, 200);
});

test('once its test has ended, the collector takes it', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  for (let i = 0; i < 20 && app.deref(); i++) {
    await sleep(10);
    collect();
  }
  assert.equal(app.deref(), undefined, 'something keeps it: take a heap snapshot here and look for App');
});
