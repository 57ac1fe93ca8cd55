import { Reply } from './reply.ts';

/** The argument of MAIL and RCPT: an address, and parameters by upper-case name; `true` for one without a value. */
export interface PathArgument {
  address: string;
  parameters: Map<string, string | true>;
}

const form = /^(?:MAIL FROM|RCPT TO)\s*:\s*<([^<>\s]*)>(?:\s+(\S.*))?$/i;
/** RFC 5321, appendix C: a route before the address is accepted and dropped. */
const route = /^@[^\s,:@]+(?:,@[^\s,:@]+)*:/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: these would split a reply, a log line or a header
const forbiddenCharacters = /[\u0000-\u001f\u007f-\u009f\u200b\u2060\ufeff]/;
/** RFC 5321 4.5.3.1.3: 256 with the brackets. */
const maxAddressLength = 254;

/** `MAIL FROM:<ada@example.com> SIZE=1000`. Undefined: unreadable. */
export function parsePathArgument(line: string): PathArgument | undefined {
  const [, path, rest] = form.exec(line) ?? [];
  if (path === undefined || forbiddenCharacters.test(line)) return undefined;
  const address = path.startsWith('@') ? path.replace(route, '') : path;
  if (address.length > maxAddressLength) return undefined;
  return { address, parameters: rest === undefined ? none : readParameters(rest) };
}

const none: PathArgument['parameters'] = new Map();

function readParameters(text: string): PathArgument['parameters'] {
  const parameters: PathArgument['parameters'] = new Map();
  for (const word of text.trim().split(/\s+/)) {
    const equals = word.indexOf('=');
    const name = (equals < 0 ? word : word.slice(0, equals)).toUpperCase();
    if (parameters.has(name)) throw new Reply(501, '5.5.4', `the parameter ${name} stands there twice`);
    parameters.set(name, equals < 0 ? true : word.slice(equals + 1));
  }
  return parameters;
}

/** One `@` with text on both sides; the area checks the rest of an address. */
export const looksLikeAddress = (address: string): boolean => {
  const at = address.indexOf('@');
  return at > 0 && at < address.length - 1 && address.indexOf('@', at + 1) < 0;
};

/** Refuses MAIL parameters that this server does not support. */
export function checkParameters(parameters: PathArgument['parameters'], maxBytes: number): void {
  if (parameters.size === 0) return;
  const size = parameters.get('SIZE');
  if (size !== undefined && (size === true || !/^\d{1,20}$/.test(size))) throw new Reply(501, '5.5.4', 'SIZE must be a number of bytes');
  if (Number(size ?? 0) > maxBytes) throw new Reply(552, '5.3.4', `the message is larger than ${maxBytes} bytes`);
  const body = parameters.get('BODY');
  if (body !== undefined && !/^(?:7BIT|8BITMIME)$/i.test(String(body))) throw new Reply(501, '5.5.4', 'BODY must be 7BIT or 8BITMIME');
  if (parameters.has('REQUIRETLS')) throw new Reply(555, '5.5.4', 'REQUIRETLS is not offered');
}

/** The user name and password of AUTH. */
export interface Credentials {
  username: string;
  password: string;
}

const decode = (token: string) => Buffer.from(token, 'base64').toString();

/** RFC 4616. Some clients put the user name in the field of the authorization identity: before the first NUL. */
export function readPlain(token: string): Credentials | undefined {
  const parts = decode(token).split('\0');
  const [other = '', own = '', password = ''] = parts;
  if (parts.length !== 3 || forbiddenCharacters.test(other) || forbiddenCharacters.test(own)) return undefined;
  return { username: own || other, password };
}

export function readUsername(token: string): string | undefined {
  const username = decode(token);
  return username && !forbiddenCharacters.test(username) ? username : undefined;
}

export const readPassword = decode;
