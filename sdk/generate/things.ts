import type { Command, Field } from '../commands.ts';
import type { Op } from './document.ts';

/** Where ids stand, and what they name: contract/things.ts. */
export interface IdPlaces {
  pathThings: Record<string, string>;
  fieldThings: Record<string, NonNullable<Field['thing']>>;
}

/** The command with the kind of thing beside every parameter and field that takes an id. */
export function markThings(command: Command, op: Pick<Op, 'id' | 'path'>, { pathThings, fieldThings }: IdPlaces): Command {
  const markField = (holder: string, field: Field): Field => {
    const thing = fieldThings[`${holder}.${field.name}`] ?? fieldThings[field.name];
    return {
      ...field,
      ...(field.fields ? { fields: field.fields.map((inner) => markField(field.name, inner)) } : {}),
      ...(thing ? { thing } : {}),
    };
  };
  const params = command.params.map((param) => {
    const thing = pathThings[op.path.slice(0, op.path.indexOf(`{${param.name}}`) + param.name.length + 2)];
    return thing ? { ...param, thing } : param;
  });
  return { ...command, params, fields: command.fields.map((field) => markField(op.id, field)) };
}
