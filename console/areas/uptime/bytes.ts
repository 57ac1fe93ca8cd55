// Bytes that a check sends or expects, as people type them. Pure.

const escapes: Record<string, number> = { r: 13, n: 10, t: 9, '0': 0, '\\': 92 };
const named = new Map(Object.entries(escapes).map(([letter, byte]) => [byte, `\\${letter}`]));
const escaped = /\\(?:([rnt0\\])|x([0-9a-fA-F]{2}))/g;

/** Text in UTF-8, with `\r`, `\n`, `\t`, `\0`, `\\` and `\xff` for bytes. */
export function bytesOf(text: string): Uint8Array {
  const encoder = new TextEncoder();
  const parts: number[] = [];
  let from = 0;
  for (const found of text.matchAll(escaped)) {
    parts.push(...encoder.encode(text.slice(from, found.index)));
    parts.push(found[1] ? escapes[found[1]]! : Number.parseInt(found[2]!, 16));
    from = found.index + found[0].length;
  }
  parts.push(...encoder.encode(text.slice(from)));
  return Uint8Array.from(parts);
}

/** The text that `bytesOf` turns into these bytes. */
export function textOf(bytes: Uint8Array): string {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return Array.from(bytes, written).join('');
  }
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is written as escapes
  return text.replaceAll(/[\u0000-\u001f\\\u007f]/g, (character) => written(character.charCodeAt(0)));
}

const written = (byte: number): string =>
  named.get(byte) ?? (byte >= 32 && byte < 127 ? String.fromCharCode(byte) : `\\x${byte.toString(16).padStart(2, '0')}`);

export const toBase64 = (bytes: Uint8Array): string => btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''));
export const fromBase64 = (text: string): Uint8Array => Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
