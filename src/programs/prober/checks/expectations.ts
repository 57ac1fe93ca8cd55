/** `200`, `2xx` or `200-299`. What was stored was checked; anything else matches nothing. */
function matches(status: number, expected: string): boolean {
  if (expected.endsWith('xx')) return String(status).charAt(0) === expected.charAt(0);
  const [low, high = low] = expected.split('-').map(Number) as [number, number?];
  return status >= low && status <= high;
}

export const isExpectedStatus = (status: number, expected: readonly string[]): boolean => expected.some((each) => matches(status, each));

/** How much of a body is looked through for the expected text. */
export const searchedBytes = 256 * 1024;

const snippetBytes = 1024;

/** The beginning of an answer, for a person: text without what would steer a terminal, in at most 1,024 bytes of UTF-8. */
export function snippetOf(beginning: Uint8Array): string {
  const text = Buffer.from(beginning.subarray(0, snippetBytes))
    .toString('utf8')
    .replaceAll(/\p{Cc}+/gu, ' ')
    .trim();
  const bytes = Buffer.from(text);
  if (bytes.length <= snippetBytes) return text;
  // Broken bytes became replacement characters of three. Cut where a character begins (RFC 3629 3: others are 10xxxxxx).
  let end = snippetBytes;
  while ((bytes[end]! & 0xc0) === 0x80) end--;
  return bytes.toString('utf8', 0, end);
}
