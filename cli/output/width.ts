let segmenter: Intl.Segmenter | undefined;

/** Made when it is needed: its tables take longer to load than most commands take to start. */
function glyphs(text: string): Intl.Segments {
  segmenter ??= new Intl.Segmenter('en', { granularity: 'grapheme' });
  return segmenter.segment(text);
}

/** Characters of one column each that join with none beside them: nearly every text is made of them alone. */
const plain = /^[\x20-\x7e\xa0-\u02ff\u2010-\u2027\u2030-\u205e\u2190-\u2193\u2500-\u257f\u2713\u2717]*$/;

/** Columns of a terminal that a printable text takes: two for East Asian wide glyphs and emoji, none for combining marks. */
export function displayWidth(text: string): number {
  if (plain.test(text)) return text.length;
  let width = 0;
  for (const { segment } of glyphs(text)) width += glyphWidth(segment);
  return width;
}

function glyphWidth(glyph: string): number {
  if (/^\p{M}+$/u.test(glyph)) return 0;
  if (/^\p{Emoji_Presentation}/u.test(glyph) || /^\p{Extended_Pictographic}\ufe0f/u.test(glyph)) return 2;
  const code = glyph.codePointAt(0)!;
  return wideRanges.some(([from, to]) => code >= from && code <= to) ? 2 : 1;
}

/** East Asian Width W and F (UAX #11), in ranges coarse enough to keep. */
const wideRanges: [number, number][] = [
  [0x1100, 0x115f],
  [0x2e80, 0x303e],
  [0x3041, 0x33ff],
  [0x3400, 0x4dbf],
  [0x4e00, 0x9fff],
  [0xa000, 0xa4cf],
  [0xa960, 0xa97f],
  [0xac00, 0xd7a3],
  [0xf900, 0xfaff],
  [0xfe30, 0xfe6f],
  [0xff01, 0xff60],
  [0xffe0, 0xffe6],
  [0x1f1e6, 0x1f1ff],
  [0x20000, 0x3fffd],
];

export const pad = (text: string, width: number) => text + ' '.repeat(Math.max(0, width - displayWidth(text)));

/** The beginning that fits into so many columns: for a line that is drawn over itself, where a second row would stay behind. */
export function fitted(text: string, width: number): string {
  let fits = '';
  let taken = 0;
  for (const { segment } of glyphs(text)) {
    taken += glyphWidth(segment);
    if (taken > width) break;
    fits += segment;
  }
  return fits;
}

/** Lines of at most `width` columns, broken between words. A word that is longer stays whole, since it may be meant for copying. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line && displayWidth(line) + 1 + displayWidth(word) > width) {
      lines.push(line);
      line = word;
    } else line = line ? `${line} ${word}` : word;
  }
  return [...lines, line];
}
