import type { Command } from '../sdk/commands.ts';
import { readThings } from '../sdk/things.ts';
import { isObject } from './fields.ts';
import { escaped, type Found, foundAs } from './names/find.ts';
import type { Item } from './names/operations.ts';

/** Options that make the output one for programs: then nothing is said beside it. */
export interface Addressee {
  json?: boolean;
  only?: string;
  output?: string;
}

export const isForProgram = ({ json, only, output }: Addressee) => Boolean(json || only || (output && !['table', 'wide'].includes(output)));

/** What a create made. Answers that hold only an id are completed by what was sent. */
export function madeBy(command: Command, answer: unknown, input: Item): (Found & { kind: string }) | undefined {
  const creation = readThings().creations[command.operation];
  if (!creation || !isObject(answer)) return undefined;
  const thing = readThings().things[creation.thing]!;
  const item = creation.at ? answer[creation.at] : answer;
  if (!isObject(item) || item[thing.id] === undefined) return undefined;
  return { ...foundAs(thing, { ...input, ...item }), kind: creation.thing };
}

const isPlainWord = (text: string) => /^[A-Za-z0-9@._:/+-]{1,100}$/.test(text) && !text.startsWith('-');

/** How the thing is typed in a next command: by name where a shell takes that as it is. */
export const typed = ({ id, name }: Found) => (name && isPlainWord(name) ? name : id);

export function describe(word: string, { id, name }: Found): string {
  return name && name !== id ? `${word} ${escaped(name)} (${id})` : `${word} ${escaped(id)}`;
}

export function sayMade(command: Command, made: Found & { kind: string }): void {
  const { things, creations } = readThings();
  console.error(`made ${describe(things[made.kind]!.word, made)}`);
  for (const next of creations[command.operation]!.next) console.error(`next: quarterdeck ${next.replaceAll('{it}', typed(made))}`);
}
