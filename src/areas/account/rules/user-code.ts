import { randomInt } from 'node:crypto';

/** Neither vowels, which make words, nor letters that are taken for digits or for one another (RFC 8628, 6.1). */
const letters = 'BCDFGHJKLMNPQRSTVWXZ';
const length = 8;

/** A code that a person types from one screen to another: 34 bits. */
export const makeUserCode = (): string => Array.from({ length }, () => letters[randomInt(letters.length)]).join('');

/** XXXX-XXXX. */
export const shownCode = (code: string): string => `${code.slice(0, length / 2)}-${code.slice(length / 2)}`;

const maxTyped = 30;

/** As people type it: in small letters, with spaces, with or without the dash. Undefined: no code. */
export function readUserCode(typed: string): string | undefined {
  const code = typed
    .slice(0, maxTyped)
    .toUpperCase()
    .replaceAll(/[\s–—-]/g, '');
  return code.length === length && [...code].every((letter) => letters.includes(letter)) ? code : undefined;
}
