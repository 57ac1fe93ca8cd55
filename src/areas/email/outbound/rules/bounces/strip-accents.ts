/** Letters that Unicode does not decompose. */
const single: Record<string, string> = { ł: 'l', ø: 'o', đ: 'd', ı: 'i', ß: 'ss', æ: 'ae', œ: 'oe' };

/** Text without diacritics, since many servers write "gelöscht", "utilisateur supprimé" or "użytkownik" in plain ASCII. */
export const stripAccents = (text: string): string =>
  text
    .normalize('NFD')
    .replace(/[\u0300-\u036f]/g, '')
    .normalize('NFC')
    .replace(/[łøđıßæœ]/g, (letter) => single[letter]!);

/** Joins several patterns into one, for text without diacritics. */
export const anyOf = (...patterns: RegExp[]): RegExp => new RegExp(patterns.map(({ source }) => `(?:${stripAccents(source)})`).join('|'));
