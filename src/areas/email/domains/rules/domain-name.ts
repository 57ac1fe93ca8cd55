import { isIP } from 'node:net';
import { domainToASCII } from 'node:url';

/** DNS names have at most 253 characters, and the names of a domain's records are longer than the domain. */
const maxLength = 200;
const labels = /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])$/;
/** Names that the public DNS never holds (RFC 6761, 6762, 7686), and the one for addresses. */
const nonPublicSuffixes: ReadonlySet<string> = new Set(['localhost', 'invalid', 'local', 'onion', 'arpa']);

/** A domain as it is stored: lower case, ASCII, without a dot at its end; or the sentence that says why it cannot send. */
export function readDomainName(text: string): { name: string } | { why: string } {
  const bare = text.trim().replace(/\.$/, '');
  if (isIP(bare.replace(/^\[(.*)\]$/, '$1'))) return { why: `${bare} is an address; mail is sent from a domain, such as mail.example.com` };
  // domainToASCII would decode or cut off other URL characters.
  const name = /[\s\p{Cc}%/\\@?#:[\]<>^|]/u.test(bare) ? '' : domainToASCII(bare);
  if (!name || isIP(name)) return { why: 'this is not a domain name; write one such as mail.example.com' };
  if (!name.includes('.')) return { why: `${name} is a single label; write a whole domain name, such as mail.example.com` };
  if (name.length > maxLength)
    return { why: `the domain name is longer than ${maxLength} characters, which leaves no room for the names of its records` };
  if (!labels.test(name)) return { why: `${name} is not a domain name that can be registered; write one such as mail.example.com` };
  if (nonPublicSuffixes.has(name.slice(name.lastIndexOf('.') + 1)))
    return { why: `${name} is not in the public DNS, so nobody could verify mail from it; use a domain of yours` };
  return { name };
}

/** Every name above it that could be registered, the closest first. */
export function parentsOf(name: string): string[] {
  const parts = name.split('.');
  return parts.slice(1, -1).map((_, i) => parts.slice(i + 1).join('.'));
}
