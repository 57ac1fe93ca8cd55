import { type Address, readAddress } from './address.ts';
import { GuardRefusal } from './errors.ts';

/** A host in canonical form: lower case, ASCII, no trailing dot, no brackets. `literal` is set when it is an address. */
export interface Host {
  readonly name: string;
  readonly literal: Address | null;
}

export interface Target {
  readonly url: URL;
  readonly host: Host;
  readonly port: number;
  readonly secure: boolean;
}

const badHost = (why: string): never => {
  throw new GuardRefusal('host', `the host ${why}; write a name like example.org or an address like 203.0.113.7`);
};

const longestAddress = 45;

/** A host as a user typed it, for connections without a URL. */
export function parseHost(raw: string): Host {
  const literal = raw.length > longestAddress ? null : readAddress(raw);
  if (literal?.text === raw) return { name: raw, literal };
  const bare = raw.startsWith('[') && raw.endsWith(']') ? raw.slice(1, -1) : raw;
  if (bare !== raw || bare.includes(':')) return hostOfAddress(bare);
  // Only a host may remain, so that URL below parses nothing else out of it. `%` would be an encoding or a zone id: one host, two
  // interpretations.
  if (raw.length > 1000 || /[\s\p{Cc}/\\@?#%[\]]/u.test(raw)) badHost('has characters that no host has');
  return hostOfUrl(readUrl(`http://${raw}/`) ?? badHost('cannot be read'));
}

function hostOfAddress(text: string): Host {
  const literal = readAddress(text);
  if (literal === null || !text.includes(':')) return badHost('is neither a name nor an address (a port is written apart)');
  return { name: literal.text, literal };
}

const readUrl = (text: string): URL | null => (URL.canParse(text) ? new URL(text) : null);

/** WHATWG URL has already normalized decimal, octal, hexadecimal, short, full-width and percent-encoded forms. */
function hostOfUrl(url: URL): Host {
  if (url.hostname.startsWith('[')) return hostOfAddress(url.hostname.slice(1, -1));
  const name = url.hostname.endsWith('.') ? url.hostname.slice(0, -1) : url.hostname;
  const literal = readAddress(name);
  if (literal !== null) return { name: literal.text, literal };
  // URL has refused names that end in a number and are no address. Leftovers such as `127.0.0.1..` are refused here.
  if (name.length > 253 || !/^[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*$/.test(name)) badHost('is not a name that the DNS could hold');
  return { name, literal: null };
}

const badUrl = (sentence: string): never => {
  throw new GuardRefusal('url', sentence);
};

/** A URL to fetch. Error sentences repeat nothing of it: it may hold secrets. */
export function parseTarget(input: string | URL, base?: URL): Target {
  const text = String(input);
  if (text.length > 8192) badUrl('the URL is longer than 8192 characters');
  if (!URL.canParse(text, base?.href)) badUrl('the URL cannot be read; write it like https://example.org/path');
  const url = new URL(text, base);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') badUrl('the URL must begin with http:// or https://');
  if (url.username !== '' || url.password !== '') badUrl('the URL holds a user name or password; send credentials in a header instead');
  const host = hostOfUrl(url);
  url.hostname = host.literal?.family === 6 ? `[${host.name}]` : host.name;
  url.hash = '';
  const secure = url.protocol === 'https:';
  return { url, host, secure, port: checkedPort(url.port === '' ? (secure ? 443 : 80) : Number(url.port)) };
}

export function checkedPort(port: number): number {
  if (Number.isInteger(port) && port >= 1 && port <= 65535) return port;
  throw new GuardRefusal('port', 'the port must be a number from 1 to 65535');
}

/** RFC 6761 6.3: these names mean this machine, whatever a resolver says. */
export const isLocalhost = (name: string) => name === 'localhost' || name.endsWith('.localhost');
