/** Decodes a part given as latin1. Never throws: undecodable text stays as it is. */
export function decodeBody(raw: string, encoding: string, charset: string, isHtml: boolean): string {
  const bytes = encoding === 'base64' ? fromBase64(raw) : encoding === 'quoted-printable' ? fromQuoted(raw, false) : raw;
  const text = decodeCharset(bytes, charset);
  return isHtml ? stripTags(text) : text;
}

const fromBase64 = (raw: string): string => Buffer.from(raw, 'base64').toString('latin1');

const fromQuoted = (raw: string, isWord: boolean): string =>
  (isWord ? raw.replaceAll('_', ' ') : raw.replace(/=[ \t]{0,20}\n/g, '')).replace(/=([0-9A-Fa-f]{2})/g, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );

const decoders = new Map<string, TextDecoder | undefined>();

function decoderOf(charset: string): TextDecoder | undefined {
  const name = charset.trim().toLowerCase().slice(0, 40);
  if (decoders.has(name)) return decoders.get(name);
  let decoder: TextDecoder | undefined;
  try {
    decoder = new TextDecoder(name);
  } catch {
    // Unknown charset: the text is guessed below.
  }
  if (decoders.size < 100) decoders.set(name, decoder);
  return decoder;
}

/** Without a charset, escapes indicate ISO-2022-JP and valid sequences UTF-8; anything else is Latin-1. */
export function decodeCharset(bytes: string, charset: string): string {
  if (bytes.includes('\x1b$') || bytes.includes('\x1b(')) return decodeWith('iso-2022-jp', bytes);
  if (!/[\x80-\xff]/.test(bytes)) return bytes;
  if (charset && !/^(?:us-)?ascii$/i.test(charset)) return decodeWith(charset, bytes);
  const text = Buffer.from(bytes, 'latin1').toString('utf8');
  return text.includes('\ufffd') ? bytes : text;
}

const decodeWith = (charset: string, bytes: string): string => decoderOf(charset)?.decode(Buffer.from(bytes, 'latin1')) ?? bytes;

const entities: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', nbsp: ' ', apos: "'" };

/** The text between tags. Every step is linear, for any nesting or unclosed tag. */
const stripTags = (html: string): string =>
  dropElements(html)
    .replace(/<(?:br|\/p|\/div|\/tr|\/li|\/h\d)\b[^<>]{0,200}>/gi, '\n')
    .replace(/<[^<>@]{0,1000}>/g, ' ')
    .replace(/&(amp|lt|gt|quot|nbsp|apos);/gi, (_, name: string) => entities[name.toLowerCase()]!)
    .replace(/&#(\d{1,6});/g, (_, code: string) => String.fromCodePoint(Math.min(Number(code), 0x10ffff)));

/** Removes styles, scripts, titles and comments. An unclosed one removes the rest. */
function dropElements(html: string): string {
  const opening = /<(style|script|title|!--)/gi;
  const kept: string[] = [];
  let from = 0;
  for (let found = opening.exec(html); found; found = opening.exec(html)) {
    kept.push(html.slice(from, found.index));
    const closing = found[1] === '!--' ? '-->' : '</';
    const end = html.indexOf(closing, opening.lastIndex);
    if (end < 0) return kept.join(' ');
    from = end;
    opening.lastIndex = end + 2;
  }
  return [...kept, html.slice(from)].join(' ');
}

/** `=?charset?q?words?=` in a header. */
export const decodeWords = (value: string): string =>
  value
    .slice(0, 4_000)
    .replace(/(\?=)[ \t]+(?==\?)/g, '$1')
    .replace(/=\?([\w-]{1,40})\?([bq])\?([^?]{0,1000})\?=/gi, (_, charset: string, kind: string, words: string) =>
      decodeCharset(kind.toLowerCase() === 'b' ? fromBase64(words) : fromQuoted(words, true), charset),
    );
