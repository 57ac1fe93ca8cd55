import { domainToASCII } from 'node:url';

// Addresses as RFC 5321 and 5322 have them, as far as mail can really be sent to them: no quoted local parts, no address literals, no
// source routes. What is left can be read in one way only, by us and by every server after us.

export interface Mailbox {
  /** What stands before the address, as people read it; '' for none. */
  name: string;
  /** The domain in lower-case ASCII. */
  address: string;
  domain: string;
}

/** What is wrong with it, as the end of a sentence whose beginning names it. */
export class Unusable {
  readonly why: string;

  constructor(why: string) {
    this.why = why;
  }
}

const localPart = /^[\w!#$%&'*+/=?^`{|}~-]+(?:\.[\w!#$%&'*+/=?^`{|}~-]+)*$/;
const hostName = /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+(?!\d+$)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
/** Ends a line of a header for some reader, or is seen by nobody. */
const unsafe = /[\p{Cc}\u2028\u2029\u200b\u2060\ufeff]/u;
const longest = { local: 64, address: 254 };

const isAscii = (text: string): boolean => /^\p{ASCII}*$/u.test(text);

export const isSafeText = (text: string): boolean => text.isWellFormed() && !unsafe.test(text);

/** An address alone: `ada@example.com`. */
export function readAddress(text: string): { address: string; domain: string } | Unusable {
  const at = text.lastIndexOf('@');
  if (at < 1 || at === text.length - 1) return new Unusable('must be an address such as ada@example.com');
  const local = text.slice(0, at);
  const written = text.slice(at + 1);
  if (!isSafeText(text)) return new Unusable('must not contain control characters');
  if (!isAscii(local))
    return new Unusable('must have only ASCII before the @: few servers take other characters there, and the message would come back');
  if (local.startsWith('"')) return new Unusable('must not be quoted before the @');
  if (local.length > longest.local) return new Unusable(`must have at most ${longest.local} characters before the @`);
  if (!localPart.test(local)) return new Unusable('must be an address such as ada@example.com');
  if (written.startsWith('[')) return new Unusable('must have a domain behind the @, not a number in brackets');
  const domain = readDomain(written);
  if (domain === undefined) return new Unusable('must have a domain such as example.com behind the @');
  const address = `${local}@${domain}`;
  return address.length > longest.address ? new Unusable(`must have at most ${longest.address} characters`) : { address, domain };
}

/** A domain as the DNS has it, or undefined. One in another script is written in ASCII. */
export function readDomain(written: string): string | undefined {
  // Beyond ASCII, what a URL may hold would be decoded too: only letters, digits, hyphens and dots are let through to it.
  if (!isAscii(written) && !/^[\p{L}\p{M}\p{N}.\u3002\uff0e\uff61\u00b7\u30fb-]+$/u.test(written)) return undefined;
  const domain = isAscii(written) ? written.toLowerCase() : domainToASCII(written);
  return domain.length <= 253 && hostName.test(domain) ? domain : undefined;
}

/** `ada@example.com`, `Ada <ada@example.com>` or `"Lovelace, Ada" <ada@example.com>`. */
export function readMailbox(written: string): Mailbox | Unusable {
  const text = written.trim();
  if (!isSafeText(text)) return new Unusable('must not contain line breaks or control characters');
  if (!text.endsWith('>')) {
    const alone = readAddress(text);
    return alone instanceof Unusable ? alone : { name: '', ...alone };
  }
  const begin = text.lastIndexOf('<');
  const name = begin < 0 ? undefined : readPhrase(text.slice(0, begin).trim());
  if (name === undefined) return new Unusable('must be one address, or a name and an address in angle brackets: Ada <ada@example.com>');
  const found = readAddress(text.slice(begin + 1, -1).trim());
  return found instanceof Unusable ? found : { name, ...found };
}

/** Words and quoted words. Undefined: others could read a list, a group or another address in it. */
function readPhrase(text: string): string | undefined {
  const words: string[] = [];
  // Quoted or not, piece by piece: each character is looked at once.
  const pieces = /"((?:[^"\\]|\\.)*)"|[^"<>,;:()\\]+/gy;
  while (pieces.lastIndex < text.length) {
    const piece = pieces.exec(text);
    if (!piece) return undefined;
    words.push((piece[1] === undefined ? piece[0] : piece[1].replaceAll(/\\(.)/g, '$1')).trim());
  }
  return words.filter(Boolean).join(' ');
}

/** As the log shows it, and as it can be read again. */
export const showMailbox = ({ name, address }: { name: string; address: string }): string => {
  if (!name) return address;
  return /^[^"<>,;:()\\]+$/.test(name) ? `${name} <${address}>` : `"${name.replaceAll(/["\\]/g, '\\$&')}" <${address}>`;
};
