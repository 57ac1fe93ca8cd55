/**
 * Names, subjects and sentences may be other people's: what would steer the terminal is shown instead of obeyed. Control characters, marks
 * of direction, characters without width and lone surrogates are escaped; a pile of more than four combining marks too, since it covers
 * the lines above.
 */
export const printable = (text: string) =>
  isPlain(text) ? text : text.replaceAll(steering, escapeAll).replaceAll(piles, (marks) => marks.slice(0, 4) + escapeAll(marks.slice(4)));

const isPlain = (text: string) => /^[\x20-\x7e\n\t]*$/.test(text);
// Variation selectors stay: they belong to the glyph before them.
const steering = /[\p{Cf}\p{Zl}\p{Zp}\p{Cs}\u115f\u1160\u3164\uffa0]|\u034f|\u17b4|\u17b5|[^\P{Cc}\n\t]/gu;
const piles = /\p{M}{5,}/gu;

const escapeAll = (text: string) => Array.from(text, escaped).join('');

function escaped(character: string): string {
  const code = character.codePointAt(0)!;
  const hex = code.toString(16);
  return code < 0x100 ? `\\x${hex.padStart(2, '0')}` : code < 0x10000 ? `\\u${hex.padStart(4, '0')}` : `\\u{${hex}}`;
}
