const bounds = { min: 15, max: 128 };
/** Characters that must be left when names are taken out. */
const minOwn = 8;
/** Shorter names occur in good passwords by chance. */
const minNameLength = 3;
const productName = 'quarterdeck';

/** The same characters can be typed in several encodings: a password counts in one of them (NIST SP 800-63B). */
export const normalizedPassword = (password: string): string => password.normalize('NFC');

/** Words that a guesser tries first. */
export interface OwnWords {
  email: string;
  name?: string;
  /** Slugs of the person's organizations. */
  organizations?: readonly string[];
}

/**
 * Why a password is not taken, or undefined. Length counts, in characters as a person sees them; which kinds of characters it has does not
 * (NIST SP 800-63B-4).
 */
export function passwordProblem(password: string, own: OwnWords): string | undefined {
  const characters = [...normalizedPassword(password)];
  if (characters.length < bounds.min)
    return `the password has ${characters.length} characters: use at least ${bounds.min}, such as four words`;
  if (characters.length > bounds.max) return `the password has ${characters.length} characters: use at most ${bounds.max}`;
  if (isRepeat(characters) || isSequence(characters))
    return 'the password repeats or counts up a few characters: use several words that do not belong together';
  if (withoutNames(characters.join(''), own).length < minOwn)
    return 'the password is little more than your name, your address, your organization or the name of this product: add words that only you know';
  return undefined;
}

/** `abcabcabcabcabc`, `passwordpassword`, `123456789012345`: the text begins again after at most two thirds of it. */
function isRepeat(characters: readonly string[]): boolean {
  const maxPeriod = Math.floor((characters.length * 2) / 3);
  for (let period = 1; period <= maxPeriod; period++)
    if (characters.every((character, i) => i < period || character === characters[i - period])) return true;
  return false;
}

/** `abcdefghijklmnop`: every character is as far from the one before. */
function isSequence(characters: readonly string[]): boolean {
  const codes = characters.map((character) => character.codePointAt(0)!);
  return codes.every((code, i) => i < 2 || code - codes[i - 1]! === codes[1]! - codes[0]!);
}

/** What is left of a password when the names in it are taken out. */
function withoutNames(password: string, { email, name = '', organizations = [] }: OwnWords): string[] {
  const [local = '', host = ''] = email.split('@');
  const names = [productName, email, local, ...host.split('.'), name, ...name.split(' '), ...organizations].map(folded);
  const longestFirst = [...new Set(names)].filter((each) => each.length >= minNameLength).sort((a, b) => b.length - a.length);
  return [...longestFirst.reduce((left, each) => left.replaceAll(each, ''), folded(password))];
}

const folded = (text: string): string => normalizedPassword(text).toLowerCase();
