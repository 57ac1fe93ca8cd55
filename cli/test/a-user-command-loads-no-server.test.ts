import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../test/harness/index.ts';
import { run } from './support.ts';

/** Writes every module that is loaded to standard error. */
const tell = `data:text/javascript,${encodeURIComponent(
  `import { registerHooks } from 'node:module'; registerHooks({ load(url, context, next) { process.stderr.write('loaded ' + url + '\\n'); return next(url, context); } });`,
)}`;

test('a user command loads the command line and the SDK, not the server', async (t) => {
  const { url, owner } = await quarterdeck(t);
  const { code, stderr } = await run(['tokens', 'list'], {
    env: { QUARTERDECK_URL: url, QUARTERDECK_TOKEN: owner.key },
    nodeFlags: ['--import', tell],
  });
  assert.equal(code, 0);
  const loaded = stderr.split('\n').flatMap((line) => (line.startsWith('loaded file:') ? [line] : []));
  assert.ok(
    loaded.some((line) => line.endsWith('/sdk/call.ts')),
    'the hook saw nothing',
  );
  assert.deepEqual(
    loaded.filter((line) =>
      /\/src\/(serve|areas|identity|boot)|\/contract\/(?!permissions)|node_modules\/(?!commander|smol-toml)/.test(line),
    ),
    [],
  );
});
