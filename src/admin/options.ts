import { InvalidArgumentError, Option } from 'commander';
import type { TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import { Email, Name } from '../../contract/shared.ts';

/** Refused while the command line is read, before any database is opened; commander names the option and ends with exit code 2. */
const checked = (schema: TSchema, sentence: string) => (text: string) => {
  const trimmed = text.trim();
  if (!Compile(schema).Check(trimmed)) throw new InvalidArgumentError(sentence);
  return trimmed;
};

export const email = checked(Email, 'It must be an email address.');
export const name = checked(Name, 'It must have 1 to 100 characters.');

export function slug(text: string): string {
  if (!/^[a-z0-9]([a-z0-9-]{1,38}[a-z0-9])$/.test(text)) {
    throw new InvalidArgumentError('It must have 3 to 40 lower-case letters, digits and inner dashes.');
  }
  return text;
}

export const whole = (least: number, most: number) => (text: string) => {
  const n = Number(text);
  if (!/^\d+$/.test(text) || n < least || n > most) throw new InvalidArgumentError(`It must be a whole number from ${least} to ${most}.`);
  return n;
};

export const organizationOption = () => new Option('-o, --organization <slug>', 'which organization; may be left out when there is only one');
export const jsonOption = () => new Option('--json', 'as JSON');
