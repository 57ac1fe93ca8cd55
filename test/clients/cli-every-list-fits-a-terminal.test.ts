import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readCommands } from '../../sdk/commands.ts';
import { quarterdeck } from '../harness/index.ts';
import { scratch } from '../harness/process.ts';
import { lacking } from './email-support.ts';
import { linesOf, onTerminal } from './terminal.ts';

const columns = 80;

/** Lists and sheets that need no argument, of every area. */
const looks = readCommands().commands.filter(
  ({ operation, params, fields, endless, silent, streams }) =>
    /^(?:list|get)[A-Z]/.test(operation) && !params.length && !endless && !silent && !streams && !fields.some(({ required }) => required),
);

test('every list and sheet of an organization with something in it fits a terminal of 80 columns', {
  skip: lacking('script', 'stty'),
}, async (t) => {
  const qd = await quarterdeck(t);
  const { owner } = qd;
  await owner.post('/tokens', { name: 'a laptop with a rather long name, so that cells are wide' });
  await owner.post('/oncall/services', { name: 'checkout of the shop in the north' });
  await owner.post('/registry/registries', { slug: 'team' });
  await owner.post('/email/domains', { name: 'mail.a-rather-long-name.example.com' });
  await owner.post('/organization/invitations', { email: 'bob@a-rather-long-name.example.com' });
  const { dir } = await scratch(t);
  const env = { QUARTERDECK_URL: qd.url, QUARTERDECK_TOKEN: owner.key };
  assert.ok(looks.length > 30, `${looks.length} commands`);
  for (const { words } of looks) {
    const terminal = onTerminal(t, words, { columns, cwd: dir, env });
    assert.equal(await terminal.ended, 0, `${words.join(' ')}: ${terminal.said()}`);
    for (const line of linesOf(terminal.said())) assert.ok([...line].length <= columns, `${words.join(' ')}: ${line}`);
  }
});
