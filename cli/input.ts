import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import type { Command } from '../sdk/commands.ts';
import { exitCodes, Failure, usage } from './exit.ts';
import { type Raw, readValue } from './fields.ts';

/** The operation's input: what `--body` brings, then each flag over it. */
export async function inputOf(command: Command, flags: Map<string, Raw>, body: string | undefined): Promise<Record<string, unknown>> {
  const whole = body === undefined ? undefined : await readBody(body);
  if (command.body === 'list') return { body: whole ?? usage('--body is missing: give the list as JSON, @file or - for standard input') };
  const input = {
    ...(whole as object | undefined),
    ...Object.fromEntries([...flags].map(([name, raw]) => [name, readValue(command.fields.find((f) => f.name === name)!, raw)])),
  };
  const missing = command.fields.filter((f) => f.required && !(f.name in input));
  if (missing.length)
    usage(
      `${missing.map((f) => `--${f.flag}`).join(' and ')} ${missing.length > 1 ? 'are' : 'is'} missing; see quarterdeck ${command.words.join(' ')} --help`,
    );
  return input;
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

function fileText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    return usage(`${path} cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
}
