import Type from 'typebox';
import { oneOf } from '../shared.ts';

// The grammars of the OCI distribution specification, so that what cannot exist is a 400 and not a 404.
const part = '[a-z0-9]+(?:(?:\\.|_|__|-+)[a-z0-9]+)*';

export const repo = Type.String({
  minLength: 1,
  maxLength: 255,
  pattern: `^${part}(?:/${part})*$`,
  description: 'A repository’s name below the registry, such as team/app',
});
export const tag = Type.String({ maxLength: 128, pattern: '^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$' });
export const digest = Type.String({
  maxLength: 135,
  pattern: '^(sha256:[a-f0-9]{64}|sha512:[a-f0-9]{128})$',
  description: '`sha256:…` or `sha512:…`',
});
export const mode = oneOf(['pull', 'readwrite']);
