/** User text on one line: a line break could start another header in a subject, or another sentence in a text. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are the point
export const oneLine = (text: string): string => text.replaceAll(/[\u0000-\u001f\u007f\u2028\u2029]+/g, ' ').trim();
