import { closeSync, openSync, readSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import type { Command } from '../sdk/commands.ts';
import { fieldCalled } from './aliases.ts';
import { commandName } from './command-name.ts';
import { exitCodes, Failure, usage } from './exit.ts';
import { isObject, type Raw, readGiven, readValue } from './fields.ts';

export interface Whole {
  body?: string | undefined;
  file?: string | undefined;
}

const maxFileBytes = 2 ** 20;
const maxDepth = 60;

/** The operation's input: what `--body` or `--file` brings, then each flag over it. */
export async function inputOf(
  command: Command,
  flags: Map<string, Raw>,
  given: string | undefined | Whole,
): Promise<Record<string, unknown>> {
  const { body, file } = typeof given === 'string' ? { body: given } : (given ?? {});
  if (body !== undefined && file !== undefined) usage('--body and --file both give all fields; leave one of them out');
  const whole = file !== undefined ? await readFields(command, file) : body === undefined ? undefined : await readBody(body);
  if (command.body === 'list')
    return { body: whole ?? usage('--body is missing: give the list as JSON, @file or - for standard input, or --file') };
  const input = {
    ...(whole as object | undefined),
    ...Object.fromEntries([...flags].map(([name, raw]) => [name, readValue(command.fields.find((f) => f.name === name)!, raw)])),
  };
  const missing = command.fields.filter((f) => f.required && f.name !== 'label' && !(f.name in input));
  if (missing.length)
    usage(
      `${listed(missing.map(({ flag, choices }) => `--${flag}${choices ? ` ${choices.join('|')}` : ''}`))} ${missing.length > 1 ? 'are' : 'is'} missing; see ${commandName} ${command.words.join(' ')} --help`,
    );
  return input;
}

const listed = (words: string[]) => words.join(', ').replace(/, (?=[^,]*$)/, ' and ');

/** The fields in a file of YAML or JSON, by their names or other names. */
async function readFields(command: Command, file: string): Promise<unknown> {
  const content = file === '-' ? await boundedInput() : fileText(file, maxFileBytes);
  const source = file === '-' ? 'standard input' : file;
  const whole = await parse(content, source);
  if (command.body === 'list') return Array.isArray(whole) ? whole : usage(`${source} must hold a list`);
  if (!isObject(whole)) return usage(`${source} must hold fields, such as name: …`);
  return Object.fromEntries(
    Object.entries(whole).map(([key, value]) => {
      const field = fieldCalled(command.fields, key);
      return field ? [field.name, readGiven(field, value)] : usage(`${source} has ${key}, which ${command.words.join(' ')} does not take`);
    }),
  );
}

async function parse(content: string, source: string): Promise<unknown> {
  try {
    return JSON.parse(content);
  } catch {
    // YAML, then. Its reader is loaded only here: every other command starts without it.
  }
  if (isTooDeep(content)) usage(`${source} is neither valid JSON nor YAML that is nested less than ${maxDepth} deep`);
  const { parse: parseYaml } = await import('yaml');
  try {
    // No aliases: a file of a few lines could otherwise unfold to gigabytes.
    return parseYaml(content, { maxAliasCount: 0, schema: 'core', logLevel: 'error' });
  } catch (error) {
    const sentence = String((error as Error).message)
      .split('\n')[0]!
      .slice(0, 200);
    return usage(`${source} is neither valid JSON nor YAML: ${sentence}`);
  }
}

/** The reader calls itself for each level. Brackets in texts count too, which no file of ours comes near. */
function isTooDeep(content: string): boolean {
  let depth = 0;
  for (const c of content) {
    if (c === '[' || c === '{') depth++;
    else if (c === ']' || c === '}') depth--;
    if (depth > maxDepth) return true;
  }
  return content.split('\n').some((line) => line.slice(0, 4 * maxDepth).search(/[^ ?:-]/) < 0 && line.length >= 4 * maxDepth);
}

async function boundedInput(): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of process.stdin) {
    chunks.push(Buffer.from(chunk as Buffer));
    size += chunks.at(-1)!.length;
    if (size > maxFileBytes) usage('standard input is larger than 1 MiB');
  }
  return Buffer.concat(chunks).toString('utf8');
}

async function readBody(given: string): Promise<unknown> {
  const source = given === '-' ? 'standard input' : given.startsWith('@') ? given.slice(1) : '--body';
  const content = given === '-' ? await text(process.stdin) : given.startsWith('@') ? fileText(given.slice(1)) : given;
  try {
    return JSON.parse(content);
  } catch {
    throw new Failure(exitCodes.usage, `${source} is not valid JSON; give JSON, @file or - for standard input`);
  }
}

/** A pipe has no size: what is read is counted instead. */
function fileText(path: string, maxBytes = Number.POSITIVE_INFINITY): string {
  const chunks: Buffer[] = [];
  let descriptor: number | undefined;
  try {
    descriptor = openSync(path, 'r');
    for (let size = 0; ; ) {
      const chunk = Buffer.alloc(65_536);
      const read = readSync(descriptor, chunk);
      if (read === 0) break;
      size += read;
      if (size > maxBytes) return usage(`${path} is larger than 1 MiB`);
      chunks.push(chunk.subarray(0, read));
    }
  } catch (error) {
    if (error instanceof Failure) throw error;
    return usage(`${path} cannot be read (${(error as NodeJS.ErrnoException).code})`);
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
  return Buffer.concat(chunks).toString('utf8');
}
