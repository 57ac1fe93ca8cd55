/** Without the slashes at its end. Not a pattern: `/\/+$/` begins again at each of many slashes. */
export function trimSlashes(text: string): string {
  let end = text.length;
  while (text[end - 1] === '/') end--;
  return text.slice(0, end);
}
