import type { Command } from '../commands.ts';
import { fieldAt } from './columns.ts';
import { type Document, deref, type Op } from './document.ts';

/** A suggested command must exist, take its arguments, and be filled from fields of the answer. */
export function refuseWrongNext(document: Document, ops: Op[], commands: Command[], next: Record<string, string[]>) {
  for (const op of ops)
    for (const line of next[op.id] ?? []) {
      const words = line.split(' ');
      const command = commands.find((c) => c.words.every((word, i) => words[i] === word));
      const given = words.slice(command?.words.length).filter((word, i, all) => !word.startsWith('-') && !all[i - 1]?.startsWith('-'));
      const isWhole = command && given.length === command.params.length && command.fields.every((field) => !field.required);
      if (!isWhole) throw new Error(`${op.id} suggests "${line}", which is no whole command: mend it in contract/next-commands.ts`);
      for (const [, field] of line.matchAll(/\{(\w+)\}/g))
        if (!answerFields(document, op).includes(field!))
          throw new Error(`${op.id} suggests "${line}", but its answer has no ${field}: mend it in contract/next-commands.ts`);
    }
}

/** Those of the answer, and of the one object that it wraps. */
function answerFields(document: Document, op: Op): string[] {
  const properties = deref(document, op.answer)?.properties ?? {};
  const inner = Object.keys(properties).flatMap((key) => Object.keys(fieldAt(document, op.answer, key)?.properties ?? {}));
  return [...Object.keys(properties), ...inner];
}
