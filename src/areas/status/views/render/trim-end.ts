/**
 * Removes matching characters at the end. A loop, because a pattern like /x+$/ restarts at every x: a long run before the end costs the
 * square of its length.
 */
export function trimEndWhile(text: string, isMeant: (character: string) => boolean): string {
  let end = text.length;
  while (end > 0 && isMeant(text[end - 1]!)) end--;
  return text.slice(0, end);
}
