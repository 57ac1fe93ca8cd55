/**
 * The text without the characters at its end that are meant. By a loop: a pattern like /x+$/ begins anew at every x, so a long run of
 * them that is not at the end costs the square of its length.
 */
export function trimEndWhile(text: string, isMeant: (character: string) => boolean): string {
  let end = text.length;
  while (end > 0 && isMeant(text[end - 1]!)) end--;
  return text.slice(0, end);
}
