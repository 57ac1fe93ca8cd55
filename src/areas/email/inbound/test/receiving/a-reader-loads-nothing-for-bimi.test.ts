import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';

test('a thread that reads mail loads nothing that BIMI alone needs', async () => {
  const program = `
    import { createRequire } from 'node:module';
    import { parentPort } from 'node:worker_threads';
    await import(${JSON.stringify(import.meta.resolve('../../clients/reader/without-bimi.ts'))});
    const { authenticate } = await import(${JSON.stringify(import.meta.resolve('mailauth'))});
    parentPort.postMessage({ type: typeof authenticate, loaded: Object.keys(createRequire(${JSON.stringify(import.meta.url)}).cache) });`;
  const thread = new Worker(new URL(`data:text/javascript,${encodeURIComponent(program)}`), { execArgv: [] });
  const [{ type, loaded }] = (await once(thread, 'message')) as [{ type: string; loaded: string[] }];
  await thread.terminate();
  assert.equal(type, 'function');
  assert.ok(
    loaded.some((file) => file.endsWith('/mailauth/lib/spf/index.js')),
    'the cache was not seen',
  );
  assert.deepEqual(
    loaded.filter((file) => /\/node_modules\/(?:undici|fast-xml-parser|@postalsys|@peculiar)\//.test(file)),
    [],
  );
});
