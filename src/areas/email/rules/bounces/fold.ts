/** Letters that Unicode does not take apart into a letter and its mark. */
const single: Record<string, string> = { ł: 'l', ø: 'o', đ: 'd', ı: 'i', ß: 'ss', æ: 'ae', œ: 'oe' };

/** Words without the marks of their letters: many servers write "gelöscht", "utilisateur supprimé" or "użytkownik" in plain ASCII. */
export const fold = (text: string): string =>
  text
    .normalize('NFD')
    .replace(/[\u0300-\u036f]/g, '')
    .normalize('NFC')
    .replace(/[łøđıßæœ]/g, (letter) => single[letter]!);

/** One pattern of several, over folded texts. */
export const any = (...patterns: RegExp[]): RegExp => new RegExp(patterns.map(({ source }) => `(?:${fold(source)})`).join('|'));
