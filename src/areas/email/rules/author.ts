import { domainToASCII } from 'node:url';

/** A local part and a domain with one `@` between them. `"bob@bank.example"@evil.example` is two addresses to some programs. */
const plainAddress = /^(?:[^\s"<>(),;:\\@[\]]{1,64}|"(?:[^"\\@]|\\[^@]){0,62}")@([^\s"<>(),;:\\@[\]]{1,255})$/;

const ascii = (domain: string) => domainToASCII(domain.replace(/\.$/, '')).toLowerCase();

/**
 * Whether the From of a message names one domain, whichever program reads it: every address is plain, all are of `domain`, which DMARC was
 * judged for, and so is the one that is told.
 */
export function isOneAuthor(addresses: readonly string[] | false | undefined, domain: string | undefined, told: string): boolean {
  if (!addresses || addresses.length === 0 || !domain) return false;
  const domains = addresses.map((address) => plainAddress.exec(address.trim())?.[1]);
  // Its quotes may be gone by now.
  const [, shown, more] = told.trim().split('@', 3);
  return more === undefined && [...domains, shown].every((one) => one !== undefined && ascii(one) === ascii(domain));
}
