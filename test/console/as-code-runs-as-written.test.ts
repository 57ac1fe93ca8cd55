import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { Command as Commander } from 'commander';
import { addCommand } from '../../cli/command.ts';
import { asCode, type Line } from '../../console/data/as-code.ts';
import { type CommandTable, operationOf } from '../../console/data/operations.ts';
import { type Command, type Field, readCommands } from '../../sdk/commands.ts';
import { quarterdeck as sdk } from '../../sdk/index.ts';
import { answering } from '../../sdk/test/servers.ts';
import { readThings } from '../../sdk/things.ts';

/** What shells, flags, lists and JSON each take for something of their own. */
const texts = [
  'shop',
  '-x',
  'it\'s $HOME `id` \\ "q"',
  'a,b',
  '[1]',
  '{"a":1}',
  'null',
  '--',
  '=b',
  'k=v',
  'two\nlines\n',
  '*',
  '~',
  '#',
  '@file',
  'ä \u202e!',
];
const lists = [['a', 'b'], [], ['a,b'], ['[1'], ['{'], ['null'], [''], ['-x', '-'], ['a', 'null'], ['two\nlines'], ['k=v', '"']];
/** Of each command; they begin at another value from one command to the next. */
const rounds = 4;

/** Every kind of value comes by in one of the rounds; which one, differs from field to field. */
const pick = <T>(of: readonly T[], round: number): T => of[round % of.length]!;

const ulid = '01K00000000000000000000000';

function idOf({ thing }: Field, chosen: Record<string, unknown>): string | undefined {
  const kind = typeof thing === 'object' ? thing.of[String(chosen[thing.by])] : thing;
  const { prefix } = (kind !== undefined && readThings().things[kind]) || {};
  return prefix ? `${prefix}_${ulid}` : undefined;
}

function madeFor(field: Field, round: number, beside: Record<string, unknown>): unknown {
  const { type, list, nullable, choices, fields } = field;
  if (nullable && round % 5 === 1) return null;
  if (type === 'object' && fields) {
    const one = (at: number) => objectOf(fields, at);
    return list ? [[one(round)], [one(round), one(round + 1)], []][round % 3] : one(round);
  }
  const id = idOf(field, beside);
  if (id !== undefined) return list ? [[id], [id, id], []][round % 3] : id;
  if (choices) return list ? [choices, choices.slice(0, 1), []][round % 3] : pick(choices, round);
  if (type === 'boolean') return round % 2 === 0;
  if (type === 'integer') return pick([0, 5, 3_600, -1, 1_000_000], round);
  if (type === 'number') return pick([0.5, 3, -1.25], round);
  if (type === 'record') return pick([{ 'X-A': 'b' }, {}, { 'X-A': '1,2=3', 'it"s:': "it's" }], round);
  return list ? pick(lists, round) : pick(texts, round);
}

function objectOf(fields: readonly Field[], round: number): Record<string, unknown> {
  const made: Record<string, unknown> = {};
  // Optional fields are left out in some rounds. What says of which kind its neighbour is comes first.
  const named = fields.filter(({ choices }) => choices).concat(fields.filter(({ choices }) => !choices));
  for (const [at, field] of named.entries())
    if (field.required || (round + at) % 4 !== 3) made[field.name] = madeFor(field, round + at, made);
  return made;
}

const table = {
  ...readThings(),
  ...readCommands(),
  byOperation: new Map(readCommands().commands.map((command) => [command.operation, command])),
} as unknown as CommandTable;

/** A screen leaves out what is empty; a secret is a placeholder in every form, so the same goes in here as comes out. */
function lineOf(command: Command, round: number): Required<Line> {
  const { operation, params, fields, body } = command;
  const made = objectOf(fields, round);
  for (const [name, value] of Object.entries(made)) if (value === '') delete made[name];
  return {
    operation,
    params: params.map((param, at) => idOf(param, {}) ?? pick(['shop', '-x', "it's a/b", 'k=v', '--', '=b'], round + at)),
    input: body === 'list' ? { body: [{ labels: { it: "it's" } }] } : made,
  };
}

interface Arrived {
  method: string;
  url: string;
  content: string;
}

/** Words as a shell hands them to a program: all lines in one run of it. */
function wordsOf(lines: readonly string[]): string[][] {
  const script = `quarterdeck() { printf '%s\\0' "$@"; printf '\\1\\0'; }; curl() { quarterdeck "$@"; }; QUARTERDECK_TOKEN=x\n${lines.join('\n')}\n`;
  const out = execFileSync('/bin/sh', ['-s'], { input: script, maxBuffer: 2 ** 28, encoding: 'utf8' });
  return out
    .split('\u0001\0')
    .slice(0, -1)
    .map((words) => words.split('\0').slice(0, -1));
}

const valuesBehind = (words: readonly string[], flag: string) => words.filter((_, at) => words[at - 1] === flag);

/** A server that has nothing, and notes what it is asked for. */
async function noting(t: TestContext) {
  const arrived: Arrived[] = [];
  const url = await answering(t, async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    arrived.push({ method: request.method!, url: request.url!, content: Buffer.concat(chunks).toString() });
    // What may not be listed is sent as it was typed.
    response.writeHead(404, { 'content-type': 'application/json' }).end('{"error":"nothing is here"}');
  });
  const here = { env: { QUARTERDECK_URL: url, QUARTERDECK_TOKEN: 'x' }, version: '0', server: () => assert.fail('it has an address') };
  return { arrived, url, here };
}

test('the command line, the curl line and the SDK call of every operation ask for the same', async (t) => {
  const { arrived, url, here } = await noting(t);
  const api = sdk({ url, token: 'x', organization: 'default' });

  const lines = readCommands().commands.flatMap((command, at) =>
    Array.from({ length: command.fields.length || command.params.length ? rounds : 1 }, (_, round) => lineOf(command, rounds * at + round)),
  );
  const written = lines.map((line) => asCode(table, line, url, 'default')!);
  const commandLines = wordsOf(written.map(({ cli }) => cli));
  const curlLines = wordsOf(written.map(({ curl }) => curl));
  assert.equal(commandLines.length, lines.length);

  for (const [at, { operation }] of lines.entries()) {
    const command = table.byOperation.get(operation)!;
    const { cli, sdk: call } = written[at]!;
    arrived.length = 0;
    await new Function('api', `return (async () => { ${call} })()`)(api).catch(() => undefined);
    const wanted = arrived.pop();
    assert.ok(wanted, `${call} asks for nothing`);

    const words = curlLines[at]!;
    const byCurl = {
      method: valuesBehind(words, '-X')[0] ?? 'GET',
      url: words.find((word) => word.startsWith(url))!.slice(url.length),
      content: valuesBehind(words, '-d')[0] ?? '',
    };
    assert.deepEqual(byCurl, wanted, written[at]!.curl);
    assert.ok(valuesBehind(words, '-H').includes('Authorization: Bearer x'), written[at]!.curl);

    arrived.length = 0;
    const said = await runLine(command as Command, commandLines[at]!, here);
    const same = arrived.find((each) => each.method === wanted.method && each.url === wanted.url);
    assert.ok(same, `${cli}\n${said}\nasked for ${JSON.stringify(arrived)}, not for ${JSON.stringify(wanted)}`);
    assert.deepEqual(same.content && JSON.parse(same.content), wanted.content && JSON.parse(wanted.content), cli);
  }
});

/** Commands that are written into screens, such as those of empty ones; the page of parts has bits of some. */
const writtenCommands = globSync('console/areas/**/*.{ts,tsx}').flatMap((file) =>
  file.endsWith('any/parts.tsx')
    ? []
    : [...readFileSync(file, 'utf8').matchAll(/(["'`])(quarterdeck (?!admin )[a-z][\s\S]*?)\1/g)].map(([, , line]) =>
        line!.replaceAll(/\$\{[^}]*\}/g, 'shop'),
      ),
);

test('the commands that screens have written into them run as they are written', async (t) => {
  const { arrived, here } = await noting(t);
  const { commands } = readCommands();
  assert.ok(writtenCommands.length > 30, `${writtenCommands.length} were found`);
  for (const [at, words] of wordsOf(writtenCommands).entries()) {
    const command = commands
      .filter((each) => each.words.every((word, place) => word === words[place]))
      .toSorted((a, b) => b.words.length - a.words.length)[0];
    assert.ok(command, `${writtenCommands[at]}`);
    arrived.length = 0;
    const said = await runLine(command, words, here);
    const { method } = operationOf(command.operation)!;
    assert.ok(
      arrived.some((each) => each.method === method),
      `${writtenCommands[at]}\n${said}`,
    );
  }
});

/** The command as the program has it, below its groups. Answers with what it complained of: the answer is always a refusal here. */
async function runLine(command: Command, words: readonly string[], here: Parameters<typeof addCommand>[2]): Promise<string> {
  let complaint = '';
  const program = new Commander('quarterdeck').enablePositionalOptions().exitOverride();
  program.configureOutput({ writeErr: (text) => (complaint += text), writeOut: () => undefined });
  let group = program;
  for (const word of command.words.slice(0, -1)) {
    const next = group.command(word).configureOutput({ writeErr: (text) => (complaint += text) });
    group = next;
  }
  addCommand(group, command, here);
  const isLoss = readThings().losses[command.operation] !== undefined;
  // A person is asked; here there is no terminal.
  const typed = isLoss ? [...command.words, '--yes', ...words.slice(command.words.length)] : words;
  await program.parseAsync([...typed], { from: 'user' }).catch((error: Error) => {
    complaint += error.message;
  });
  return complaint;
}
