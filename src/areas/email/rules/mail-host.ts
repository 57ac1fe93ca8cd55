import { isIP } from 'node:net';
import { readDomainName } from './domain-name.ts';

/** Why a domain's records cannot name this host, and what the operator can do about it; undefined when they can. */
export function whyNotMailHost(host: string): string | undefined {
  if (!isIP(host.replace(/^\[(.*)\]$/, '$1')) && 'name' in readDomainName(host)) return undefined;
  return `this server is known as ${host}, which no other mail server can look up; the operator must set QUARTERDECK_MAIL_HOST to its public name, such as mail.example.com`;
}

/** What stands in records until the server has a name. */
export const unnamedHost = '(the operator must set QUARTERDECK_MAIL_HOST)';
