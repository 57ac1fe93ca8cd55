import { InvalidArgumentError, Option } from 'commander';

// Refused while the command line is read, before any database is opened: commander names the option and ends with exit code 2.

export function email(text: string): string {
  const trimmed = text.trim();
  const address = /^[^\s@<>"(),:;\\[\]]{1,64}@[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/i;
  if (!address.test(trimmed) || trimmed.length > 254) throw new InvalidArgumentError('It must be an email address.');
  return trimmed;
}

export function name(text: string): string {
  const trimmed = text.trim();
  if (!trimmed || trimmed.length > 100) throw new InvalidArgumentError('It must have 1 to 100 characters.');
  return trimmed;
}

export function slug(text: string): string {
  if (!/^[a-z0-9]([a-z0-9-]{1,38}[a-z0-9])$/.test(text)) {
    throw new InvalidArgumentError('It must have 3 to 40 lower-case letters, digits and inner dashes.');
  }
  return text;
}

export const whole = (min: number, max: number) => (text: string) => {
  const n = Number(text);
  if (!/^\d+$/.test(text) || n < min || n > max) throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`);
  return n;
};

const services = ['email', 'uptime'];

export function entitlements(text: string): string[] {
  const wanted = text === 'none' ? [] : text.split(',').map((part) => part.trim());
  const unknown = wanted.find((part) => !services.includes(part));
  if (unknown !== undefined)
    throw new InvalidArgumentError(`“${unknown}” is none of ${services.join(', ')}; “none” stands for none of them.`);
  return services.filter((part) => wanted.includes(part));
}

export const organizationOption = () =>
  new Option('-o, --organization <slug>', 'which organization; may be left out when there is only one');
export const jsonOption = () => new Option('--json', 'as JSON');
