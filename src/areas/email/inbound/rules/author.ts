import { domainToASCII } from 'node:url';

/** A local part and a domain with one `@` between them. `"bob@bank.example"@evil.example` is two addresses to some programs. */
const plainAddress = /^(?:[^\s"<>(),;:\\@[\]]{1,64}|"(?:[^"\\@]|\\[^@]){0,62}")@([^\s"<>(),;:\\@[\]]{1,255})$/;

const ascii = (domain: string) => domainToASCII(domain.replace(/\.$/, '')).toLowerCase();

/**
 * Whether every parser finds the same single domain in From: all addresses are plain and of `domain`, the domain that DMARC checked. The
 * address in the event must be of that domain too.
 */
export function isOneAuthor(addresses: readonly string[] | false | undefined, domain: string | undefined, shownAddress: string): boolean {
  if (!addresses || addresses.length === 0 || !domain) return false;
  const domains = addresses.map((address) => plainAddress.exec(address.trim())?.[1]);
  // The parser may have removed its quotes.
  const [, shown, more] = shownAddress.trim().split('@', 3);
  return more === undefined && [...domains, shown].every((one) => one !== undefined && ascii(one) === ascii(domain));
}
