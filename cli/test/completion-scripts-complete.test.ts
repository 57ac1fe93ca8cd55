import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { readCommands } from '../../sdk/commands.ts';
import { run } from './support.ts';

/** The words after this one, over all commands. */
const secondWords = (area: string) => [
  ...new Set(
    readCommands()
      .commands.filter(({ words }) => words[0] === area)
      .map(({ words }) => words[1]!)
      .sort(),
  ),
];

const bash = (script: string, ...args: string[]) => spawnSync('bash', [...args, '-c', script], { encoding: 'utf8' });

test('bash completes areas, nouns, verbs and flags', async () => {
  const { stdout: script } = await run(['completion', 'bash']);
  assert.deepEqual(bash(script, '-n').stderr, '');
  const complete = (...words: string[]) =>
    bash(
      `${script}\nCOMP_WORDS=(quarterdeck ${words.map((w) => `'${w}'`).join(' ')})\nCOMP_CWORD=${words.length}\n_quarterdeck\nprintf '%s ' "\${COMPREPLY[@]}"`,
    ).stdout.trim();

  assert.equal(complete('tok'), 'tokens');
  assert.equal(complete('tokens', ''), [...secondWords('tokens'), '--help'].join(' '));
  assert.equal(complete('iam', 'roles', 'up'), 'update');
  assert.equal(complete('tokens', 'create', '--name', 'ci', '--e'), '--expires-in');
  assert.equal(complete('tokens', 'update', 'tok_1', '--no'), '--no-enabled');
  assert.equal(complete('completion', ''), 'bash zsh fish --help');
});

test('every command stands in the script of every shell', async () => {
  for (const shell of ['bash', 'zsh', 'fish']) {
    const { stdout } = await run(['completion', shell]);
    for (const { words } of readCommands().commands) assert.ok(stdout.includes(`' ${words.join(' ')}'`), `${shell}: ${words.join(' ')}`);
  }
});
