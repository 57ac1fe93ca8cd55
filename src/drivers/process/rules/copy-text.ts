// The text format of PostgreSQL's COPY: a line for each row, a tab between columns, backslashes before what would break that.

const escapes: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' };

const unescaped = (text: string): string =>
  text.includes('\\') ? text.replace(/\\(.)/g, (_, letter: string) => escapes[letter] ?? letter) : text;

/** The columns of a line; null is `\N`. */
export const columnsOf = (line: string): (string | null)[] => line.split('\t').map((text) => (text === '\\N' ? null : unescaped(text)));

/** A bytea as it is written in hexadecimal: `\x00ff`. */
export const bytesOf = (text: string | null): Buffer => Buffer.from(text === null ? '' : text.slice(2), 'hex');
