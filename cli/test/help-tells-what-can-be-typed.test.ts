import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readCommands } from '../../sdk/commands.ts';
import { exitCodes, meanings } from '../exit-codes.ts';
import { run } from './support.ts';

const help = async (...args: string[]) => {
  const { code, stdout, stderr } = await run([...args, '--help']);
  assert.deepEqual({ code, stderr }, { code: 0, stderr: '' });
  return stdout;
};

test('a command tells its arguments, its fields and how each is written', async () => {
  const text = await help('tokens', 'update');
  assert.match(text, /^Usage: quarterdeck tokens update \[options\] <id>\n\n.+\n\nFields:\n.+\n\nOptions:\n.+\n$/s);
  for (const line of text.split('\n')) assert.ok(line.length <= 80, line);
  const inOneLine = text.replaceAll(/\s+/g, ' ');
  for (const told of [
    'Rename, switch off or on, or re-scope a token. What it minted is switched off and narrowed with it.',
    '--name <text> Trimmed; 1 to 100 characters',
    '--enabled (or --no-enabled)',
    '--scope <role=…> All entries together name at most 1,000 resources (keys: role, resourceIds?; repeat for more)',
    '--body <json> all fields at once: JSON, @file, or - for standard input',
    '-o, --output <format> how the answer is shown; wide: with further columns (choices: "table", "wide", "json", "yaml", "name")',
    '--json the whole answer as JSON',
    '--only <field> one field of the answer, bare: for scripts',
    '--url <url> the server; default: QUARTERDECK_URL, your login, then this machine',
    '--token <token> default: QUARTERDECK_TOKEN, your login, then data/owner.token; each for its own server only',
    '-h, --help display help for command',
  ])
    assert.ok(inOneLine.includes(told), `${told}\n${text}`);
});

test('a group tells its nouns and verbs', async () => {
  const text = await help('iam');
  assert.match(text, /^Usage: quarterdeck iam \[options\] \[command\]\n\nRoles, grants, and the catalogs behind them\n/);
  const verbsOf = Map.groupBy(
    readCommands().commands.filter(({ area }) => area === 'iam'),
    ({ words }) => words[1]!,
  );
  assert.ok(verbsOf.has('roles') && verbsOf.has('grants'));
  for (const [noun, commands] of verbsOf) {
    const verbs = commands.map(({ words }) => words[2]!).sort();
    assert.match(text, new RegExp(`^  ${noun} +${verbs.join(', ')}$`, 'm'));
  }
});

test('the first page names every area that is served, and the exit codes', async () => {
  const text = await help();
  const alone = '[options] where you are: servers, what is down, what is nearly full, mail that waits, who is on call; and status pages';
  const { areas, commands } = readCommands();
  const isGroup = (area: string) => commands.some(({ words }) => words.length > 1 && words[0] === area);
  for (const { name, description: own } of areas.filter((area) => isGroup(area.name))) {
    const description = name === 'status' ? alone : own;
    assert.match(text.replaceAll(/\s+/g, ' '), new RegExp(` ${name} ${RegExp.escape(description)}`));
  }
  for (const { words, summary } of commands.filter((command) => command.words.length === 1))
    assert.match(text.replaceAll(/\s+/g, ' '), new RegExp(` ${words[0]} \\[options\\].* ${RegExp.escape(summary)}`));
  const told = text.replaceAll(/\s+/g, ' ');
  assert.match(told, /Tokens: QUARTERDECK_TOKEN is sent to the server of QUARTERDECK_URL and to no other/);
  for (const code of Object.values(exitCodes)) assert.ok(told.includes(`${code} ${meanings[code]}`), `${code}`);
});
