import { isIP } from 'node:net';
import { readDomainName } from './domain-name.ts';

/** Why DNS records cannot name this host, with the fix for the operator; undefined if they can. */
export function whyNotMailHost(host: string): string | undefined {
  if (!isIP(host.replace(/^\[(.*)\]$/, '$1')) && 'name' in readDomainName(host)) return undefined;
  return `this server is known as ${host}, which no other mail server can look up; the operator must set QUARTERDECK_MAIL_HOST to its public name, such as mail.example.com`;
}

/** Placeholder in records until the operator sets a public name. */
export const unnamedHost = '(the operator must set QUARTERDECK_MAIL_HOST)';
