import type { Field } from '../sdk/commands.ts';

const unit = /(?:Seconds|Ms|Bytes|Days)$/;

/** Other names under which a field may be given: one of a list, without its unit, and a thing without "id". */
export function aliasesOf(field: Pick<Field, 'name' | 'list' | 'type' | 'thing'>): string[] {
  const { name, list, type, thing } = field;
  const one = list || type === 'record' ? singular(name) : name;
  const found = [one, ...(unit.test(name) ? [name.replace(unit, '')] : []), ...(thing ? [one.replace(/Ids?$/, '')] : [])];
  return [...new Set(found)].filter((alias) => alias && alias !== name && alias !== 'id');
}

const singular = (name: string) => {
  if (name.endsWith('xes')) return name.slice(0, -2);
  if (/ies$/.test(name)) return name.replace(/ies$/, 'y');
  return /[^s]s$/.test(name) && !/(?:us|Ids)$/.test(name) ? name.slice(0, -1) : name.replace(/Ids$/, 'Id');
};

/** `waitSeconds` → `wait-seconds`. */
export const flagOf = (name: string) => name.replaceAll('_', '-').replace(/[A-Z]/g, (c, at) => `${at ? '-' : ''}${c.toLowerCase()}`);

/** The field that a key means: by its name, its flag or an alias. */
export function fieldCalled(fields: Field[], key: string): Field | undefined {
  return (
    fields.find((f) => f.name === key || f.flag === key) ??
    fields.find((f) => aliasesOf(f).some((alias) => alias === key || flagOf(alias) === key))
  );
}
