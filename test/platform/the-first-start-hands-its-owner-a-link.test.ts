import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { scratch, serverProcess } from '../harness/process.ts';
import { browserLike } from '../harness/visitor.ts';

/** Makes standard output look like a terminal. */
const terminal = ['--import', `data:text/javascript,${encodeURIComponent('process.stdout.isTTY = true')}`];
const linkIn = (text: string) => /Open: {2}(http:\/\/localhost:\d+)(\/sign-in\/link\/qd_once_\w+)/.exec(text);

test('the first start hands its owner a link, at a terminal alone, until the owner has signed in', async (t) => {
  const { dir, dataDir } = await scratch(t, { isMigrated: true });
  const piped = serverProcess(t, { dir });
  await piped.ready;
  assert.match(piped.stdout(), /Open: {2}(?:\.\/)?quarterdeck admin sign-in-link {3}makes a link that signs the owner in, once\n/);
  assert.doesNotMatch(piped.stdout() + piped.stderr(), /qd_once_/, 'what is no terminal may be a log');
  assert.equal(await piped.stopped(), 0);

  const first = serverProcess(t, { dir, nodeFlags: terminal });
  const url = await first.ready;
  const [, , earlier = ''] = linkIn(first.stdout())!;
  assert.equal(await first.stopped(), 0);

  const second = serverProcess(t, { dir, nodeFlags: terminal });
  await second.ready;
  const [, base = '', link = ''] = linkIn(second.stdout())!;
  const browser = browserLike(base);
  assert.equal((await browser.get(earlier)).status, 404, 'a newer link ends the earlier one');
  assert.match((await browser.get(link)).text, /signs you in as <b>owner@localhost<\/b>, once/);
  const shown = await browser.post(link);
  assert.equal(shown.path, '/account');
  for (const step of [/Enter your mail address/, /href="\/account\/passkeys">add a passkey/]) assert.match(shown.text, step);
  assert.equal((await browser.post(link)).status, 404);
  assert.match(
    await readFile(join(dataDir, 'owner.url'), 'utf8'),
    /^http:\/\/127\.0\.0\.1:\d+\n$/,
    'the command line has its address still',
  );
  assert.match(url, /^http:\/\/127\.0\.0\.1:/);
  await browser.post('/sign-out');
  assert.equal(await second.stopped(), 0);

  const third = serverProcess(t, { dir, nodeFlags: terminal });
  await third.ready;
  assert.doesNotMatch(third.stdout(), /Open:/, 'the owner has signed in once');
  assert.equal(await third.stopped(), 0);
  const log = await readFile(join(dataDir, 'log', 'quarterdeck.log'), 'utf8');
  assert.doesNotMatch(log, /qd_once_/);
});
