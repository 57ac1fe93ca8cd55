import { badRequest } from '../../status.ts';
import { isLabelKey, isLabelValue } from './names.ts';

// Parses label and field selectors in linear time. Clients choose the text, and 8,192 spaces or commas must cost no more than other text.

export interface LabelRequirement {
  key: string;
  operator: 'in' | 'notin' | 'exists' | 'absent' | 'gt' | 'lt';
  values: ReadonlySet<string>;
}

export interface FieldRequirement {
  field: string;
  value: string;
  isEqual: boolean;
}

const maxLength = 8_192;
const maxRequirements = 100;

export function requireSelectorLength(text: string): void {
  if (text.length > maxLength) throw badRequest(`a selector has at most ${maxLength} characters`);
  if (text.includes('\0')) throw badRequest('a selector has no NUL in it');
}

const quote = (text: string) => JSON.stringify(text.slice(0, 200));

/** Splits at each comma for which `isSeparator` returns true; it is called once per character, in order. */
function splitTerms(text: string, isSeparator: (character: string) => boolean): string[] {
  const terms: string[] = [];
  if (text.trim() === '') return terms;
  let start = 0;
  for (let at = 0; at <= text.length; at++) {
    if (at < text.length && !isSeparator(text[at]!)) continue;
    if (terms.length === maxRequirements) throw badRequest(`a selector has at most ${maxRequirements} requirements`);
    terms.push(text.slice(start, at).trim());
    start = at + 1;
  }
  return terms;
}

/** Commas in brackets belong to a list of values. */
function outsideBrackets(): (character: string) => boolean {
  let depth = 0;
  return (character) => {
    if (character === '(') depth++;
    if (character === ')') depth--;
    return character === ',' && depth <= 0;
  };
}

export const readLabels = (text: string): LabelRequirement[] => splitTerms(text, outsideBrackets()).map(readLabel);

function readLabel(term: string): LabelRequirement {
  const refuse = () => badRequest(`unable to parse requirement: ${quote(term)} is not a label requirement`);
  const make = (key: string, operator: LabelRequirement['operator'], values: readonly string[] = []): LabelRequirement => {
    if (!isLabelKey(key) || !values.every(isLabelValue)) throw refuse();
    return { key, operator, values: new Set(values) };
  };
  if (term.startsWith('!')) return make(term.slice(1).trim(), 'absent');
  const at = term.search(/[=!<>(]/);
  if (at < 0) return make(term, 'exists');
  const key = term.slice(0, at).trim();
  const rest = term.slice(at + 1);
  switch (term[at]) {
    case '=':
      return make(key, 'in', [rest.slice(rest.startsWith('=') ? 1 : 0).trim()]);
    case '!':
      if (!rest.startsWith('=')) throw refuse();
      return make(key, 'notin', [rest.slice(1).trim()]);
    case '(':
      return readList(key, rest, make, refuse);
    default: {
      const bound = rest.trim();
      if (!isInteger(bound)) throw refuse();
      return { ...make(key, term[at] === '>' ? 'gt' : 'lt'), values: new Set([bound]) };
    }
  }
}

/** As in Kubernetes: at most 19 digits, so that the number fits into 64 bits. */
export const isInteger = (text: string): boolean => /^-?\d{1,19}$/.test(text);

/** `head` is the text before the bracket: `environment notin`. */
function readList(
  head: string,
  rest: string,
  make: (key: string, operator: 'in' | 'notin', values: readonly string[]) => LabelRequirement,
  refuse: () => Error,
): LabelRequirement {
  const gap = head.search(/\s/);
  const operator = gap < 0 ? '' : head.slice(gap).trim();
  const list = rest.slice(0, -1);
  if ((operator !== 'in' && operator !== 'notin') || !rest.endsWith(')') || list.includes('(') || list.includes(')')) throw refuse();
  return make(
    head.slice(0, gap),
    operator,
    list.split(',').map((value) => value.trim()),
  );
}

/** A backslash escapes the next character. */
function unescaped(): (character: string) => boolean {
  let isEscaped = false;
  return (character) => {
    const wasEscaped = isEscaped;
    isEscaped = !wasEscaped && character === '\\';
    return character === ',' && !wasEscaped;
  };
}

export const readFields = (text: string): FieldRequirement[] => splitTerms(text, unescaped()).map(readField);

function readField(term: string): FieldRequirement {
  const refuse = () => badRequest(`invalid field selector: ${quote(term)}`);
  const equals = term.indexOf('=');
  if (equals < 0) throw refuse();
  const isEqual = term[equals - 1] !== '!';
  const field = term.slice(0, isEqual ? equals : equals - 1).trim();
  const value = term.slice(isEqual && term[equals + 1] === '=' ? equals + 2 : equals + 1).trim();
  if (!/^[\w.]{1,200}$/.test(field)) throw refuse();
  return { field, value: unescapeValue(value, refuse), isEqual };
}

function unescapeValue(value: string, refuse: () => Error): string {
  let plain = '';
  for (let at = 0; at < value.length; at++) {
    const character = value[at]!;
    if (character === '=' || character === ',') throw refuse();
    if (character === '\\') at++;
    const taken = value[at];
    if (taken === undefined || (character === '\\' && taken !== '\\' && taken !== ',' && taken !== '=')) throw refuse();
    plain += taken;
  }
  return plain;
}
