import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Command, type Field, readCommands } from '../../sdk/commands.ts';
import { operations } from '../../sdk/generated/operations.ts';
import { answering } from '../../sdk/test/servers.ts';
import { readThings } from '../../sdk/things.ts';
import { formatted } from '../print.ts';
import { cliHere } from './cli-context.ts';
import { now, sampleAnswer } from './samples.ts';

const shown = readCommands().commands.filter(({ silent, streams }) => !silent && !streams);

/** A value that needs no question to the server. */
function argumentFor({ thing, choices, type }: Field): string {
  const prefix = typeof thing === 'string' ? readThings().things[thing]!.prefix : undefined;
  if (prefix !== undefined) return `${prefix || 'svc'}_01J8Z0000000000000000000AB`;
  return choices?.[0] ?? (type === 'integer' || type === 'number' ? '60' : 'x');
}

const isRead = ({ area, operation }: Command) => operations[area]![operation]!.method === 'GET';

test('-o json of every operation is its answer', () => {
  for (const command of shown) {
    const answer = JSON.parse(JSON.stringify(sampleAnswer(command.operation)));
    for (const width of [80, undefined]) {
      const text = formatted(answer, command, 'json', { width, color: true, unicode: true, now });
      assert.equal(text, `${JSON.stringify(answer, null, 2)}\n`, command.operation);
    }
  }
});

test('every command that reads passes on what the server says, field by field, also fields of a later release', async (t) => {
  let answer: unknown;
  const url = await answering(t, (_, response) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer)),
  );
  const cli = cliHere(url, 'qd_pat_test');
  for (const command of shown.filter(isRead)) {
    answer = { ...sampleAnswer(command.operation), ofALaterRelease: { list: [1, null, 'x'] } };
    const required = command.fields
      .filter((field) => field.required)
      .flatMap((field) => (field.name === command.argument ? [argumentFor(field)] : [`--${field.flag}`, argumentFor(field)]));
    const args = [...command.words, ...command.params.map(argumentFor), ...required];
    const { stdout, stderr } = await cli(...args, '-o', 'json');
    assert.equal(stdout, `${JSON.stringify(answer, null, 2)}\n`, `${args.join(' ')}: ${stderr}`);
  }
});
