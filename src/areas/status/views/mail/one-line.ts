/** What people wrote, on one line: in a subject it could begin another header, in a line of ours another sentence. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are the point
export const oneLine = (text: string): string => text.replaceAll(/[\u0000-\u001f\u007f\u2028\u2029]+/g, ' ').trim();
