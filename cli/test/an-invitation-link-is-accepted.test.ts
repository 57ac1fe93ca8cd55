import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../test/harness/index.ts';
import { cliHere, runHere } from './cli-context.ts';
import { cliOf, run } from './support.ts';

/** A link is opened in a browser, which keeps passkeys for names alone. */
const inBrowsers = (url: string) => url.replace('127.0.0.1', 'localhost');

test('somebody new joins by the link alone and is told how to go on', async (t) => {
  const { url, owner, dataDir } = await quarterdeck(t);
  const { stdout: link, stderr } = await cliOf(url, owner.key)(
    'organization',
    'invitations',
    'create',
    '--email',
    'ann@example.com',
    '--role',
    'admin',
    '--only',
    'link',
  );
  assert.match(stderr, /only this once/);

  // The owner's token lies beside; joining is for somebody else, so it is not used.
  const joined = await run(['join', link.trim(), '--name', 'Ann', '--json'], {
    env: { QUARTERDECK_DATA: dataDir, QUARTERDECK_LISTEN: new URL(url).host },
  });
  assert.equal(joined.code, 0, joined.stderr);
  assert.match(joined.stderr, new RegExp(`export QUARTERDECK_URL=${inBrowsers(url)} QUARTERDECK_TOKEN=`));
  const { organization, token } = JSON.parse(joined.stdout);
  assert.equal(organization, 'default');
  assert.equal((await cliHere(url, token)('whoami', '--only', 'name')).stdout, 'Ann\n');

  assert.equal((await runHere(['join', link.trim()])).code, 22);
});

test('somebody who is known joins with a token of theirs', async (t) => {
  const { url, owner, organization } = await quarterdeck(t);
  const other = await organization('other');
  const { body } = await owner.post('/organization/invitations', { email: other.email });

  assert.equal((await runHere(['join', body.link])).code, 23);
  assert.equal((await cliHere(inBrowsers(url), owner.key)('join', body.link)).code, 21);
  const joined = await runHere(['join', body.link, '--token', other.key, '--only', 'token'], { env: { QUARTERDECK_TOKEN: owner.key } });
  assert.equal((await cliHere(url, joined.stdout.trim())('whoami', '--only', 'organization')).stdout, 'default\n');
});

test('what is no link is said so', async () => {
  const { code, stderr } = await runHere(['join', 'https://quarterdeck.example/']);
  assert.deepEqual({ code, stderr }, { code: 2, stderr: 'quarterdeck: an invitation link looks like https://…/join/qd_inv_…\n' });
});
