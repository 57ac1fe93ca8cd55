const maxLength = 500;

/**
 * A path of this server, or undefined. `//host` and `/\host` lead elsewhere, and browsers drop tabs and newlines before they look: a path of
 * ours has none of them, but all characters that a path and a query may have (RFC 3986). Nor has it an empty part: `/.//host` is `//host` to a program that joins paths.
 */
export function ownPath(text: unknown): string | undefined {
  if (
    typeof text !== 'string' ||
    text.length > maxLength ||
    !/^\/(?![/\\])[\w./?=&%~:@+,;!$'()*-]*$/.test(text) ||
    text.split('?', 1)[0]!.includes('//')
  )
    return undefined;
  return text;
}
