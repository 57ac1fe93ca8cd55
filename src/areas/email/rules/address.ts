import { domainToASCII } from 'node:url';

// The part of RFC 5321 and 5322 addresses that real servers deliver to: no quoted local parts, no address literals, no source routes. Every
// server reads the remaining forms in the same way.

export interface Mailbox {
  /** Display name, decoded; '' for none. */
  name: string;
  /** The domain in lower-case ASCII. */
  address: string;
  domain: string;
}

/** Why an address is refused, as the end of a sentence that begins with the address. */
export class InvalidAddress {
  readonly why: string;

  constructor(why: string) {
    this.why = why;
  }
}

const localPart = /^[\w!#$%&'*+/=?^`{|}~-]+(?:\.[\w!#$%&'*+/=?^`{|}~-]+)*$/;
const hostName = /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+(?!\d+$)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
/** Characters that end a header line for some parsers, or that are invisible. */
const unsafe = /[\p{Cc}\u2028\u2029\u200b\u2060\ufeff]/u;
const maxLengths = { local: 64, address: 254 };

const isAscii = (text: string): boolean => /^\p{ASCII}*$/u.test(text);

export const isSafeText = (text: string): boolean => text.isWellFormed() && !unsafe.test(text);

/** An address alone: `ada@example.com`. */
export function readAddress(text: string): { address: string; domain: string } | InvalidAddress {
  const at = text.lastIndexOf('@');
  if (at < 1 || at === text.length - 1) return new InvalidAddress('must be an address such as ada@example.com');
  const local = text.slice(0, at);
  const written = text.slice(at + 1);
  if (!isSafeText(text)) return new InvalidAddress('must not contain control characters');
  if (!isAscii(local))
    return new InvalidAddress(
      'must have only ASCII before the @: few servers take other characters there, and the message would come back',
    );
  if (local.startsWith('"')) return new InvalidAddress('must not be quoted before the @');
  if (local.length > maxLengths.local) return new InvalidAddress(`must have at most ${maxLengths.local} characters before the @`);
  if (!localPart.test(local)) return new InvalidAddress('must be an address such as ada@example.com');
  if (written.startsWith('[')) return new InvalidAddress('must have a domain behind the @, not a number in brackets');
  const domain = readDomain(written);
  if (domain === undefined) return new InvalidAddress('must have a domain such as example.com behind the @');
  const address = `${local}@${domain}`;
  return address.length > maxLengths.address
    ? new InvalidAddress(`must have at most ${maxLengths.address} characters`)
    : { address, domain };
}

/** The domain in lower-case ASCII, or undefined. IDNs are converted. */
export function readDomain(written: string): string | undefined {
  // domainToASCII also decodes URL escapes, so only letters, digits, hyphens and dots may reach it.
  if (!isAscii(written) && !/^[\p{L}\p{M}\p{N}.\u3002\uff0e\uff61\u00b7\u30fb-]+$/u.test(written)) return undefined;
  const domain = isAscii(written) ? written.toLowerCase() : domainToASCII(written);
  return domain.length <= 253 && hostName.test(domain) ? domain : undefined;
}

/** `ada@example.com`, `Ada <ada@example.com>` or `"Lovelace, Ada" <ada@example.com>`. */
export function readMailbox(written: string): Mailbox | InvalidAddress {
  const text = written.trim();
  if (!isSafeText(text)) return new InvalidAddress('must not contain line breaks or control characters');
  if (!text.endsWith('>')) {
    const alone = readAddress(text);
    return alone instanceof InvalidAddress ? alone : { name: '', ...alone };
  }
  const begin = text.lastIndexOf('<');
  const name = begin < 0 ? undefined : readPhrase(text.slice(0, begin).trim());
  if (name === undefined)
    return new InvalidAddress('must be one address, or a name and an address in angle brackets: Ada <ada@example.com>');
  const found = readAddress(text.slice(begin + 1, -1).trim());
  return found instanceof InvalidAddress ? found : { name, ...found };
}

/** Plain and quoted words. Undefined: another parser could read a list, a group or a second address. */
function readPhrase(text: string): string | undefined {
  const words: string[] = [];
  // One linear pass over quoted and unquoted pieces.
  const pieces = /"((?:[^"\\]|\\.)*)"|[^"<>,;:()\\]+/gy;
  while (pieces.lastIndex < text.length) {
    const piece = pieces.exec(text);
    if (!piece) return undefined;
    words.push((piece[1] === undefined ? piece[0] : piece[1].replaceAll(/\\(.)/g, '$1')).trim());
  }
  return words.filter(Boolean).join(' ');
}

/** For the log; `readMailbox` can parse it again. */
export const showMailbox = ({ name, address }: { name: string; address: string }): string => {
  if (!name) return address;
  return /^[^"<>,;:()\\]+$/.test(name) ? `${name} <${address}>` : `"${name.replaceAll(/["\\]/g, '\\$&')}" <${address}>`;
};
