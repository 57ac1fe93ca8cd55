import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readCommands } from '../../sdk/commands.ts';
import { run } from './support.ts';

const help = async (...args: string[]) => {
  const { code, stdout, stderr } = await run([...args, '--help']);
  assert.deepEqual({ code, stderr }, { code: 0, stderr: '' });
  return stdout;
};

test('a command tells its arguments, its fields and how each is written', async () => {
  assert.equal(
    await help('tokens', 'update'),
    `Usage: quarterdeck tokens update [options] <id>

Rename, switch off or on, or re-scope a token. What it minted is switched off
and narrowed with it. A narrowed token changes itself and what it minted, no
other.

Fields:
  --name <text>     Trimmed; 1 to 100 characters
  --enabled         (or --no-enabled)
  --scope <role=…>  All entries together name at most 1,000 resources (keys:
                    role, resourceIds?; repeat for more)

Options:
  --body <json>     all fields at once: JSON, @file, or - for standard input
  --json            the whole answer as JSON
  --only <field>    one field of the answer, bare: for scripts
  --url <url>       the server; default: QUARTERDECK_URL, then the one of this
                    machine
  --token <token>   default: QUARTERDECK_TOKEN, then data/owner.token; each goes
                    to its own server only
  -h, --help        display help for command
`,
  );
});

test('a group tells its nouns and verbs', async () => {
  assert.equal(
    await help('iam'),
    `Usage: quarterdeck iam [options] [command]

Roles, grants, and the catalogs behind them

Options:
  -h, --help   display help for command

Commands:
  catalog      get
  grants       create, delete, list
  permissions  list
  roles        create, delete, list, update
`,
  );
});

test('the first page names every area that is served, and the exit codes', async () => {
  const text = await help();
  for (const { name, description } of readCommands().areas)
    assert.match(text.replaceAll(/\s+/g, ' '), new RegExp(` ${name} ${RegExp.escape(description)}`));
  assert.match(text, /Tokens: QUARTERDECK_TOKEN is sent to the server of QUARTERDECK_URL and to no other/);
  for (const code of [
    '0 done',
    '1 unexpected',
    '2 wrong usage',
    '20 no valid token',
    '21 not allowed',
    '22 unknown',
    '23 conflict',
    '24 otherwise refused',
    '25 unavailable',
  ])
    assert.ok(text.includes(code), code);
});
