import { usage } from './exit.ts';

/** Where a server is, as the URL standard spells it: what is shown to a person is what will be asked. */
export function serverUrl(text: string): string {
  const url = URL.parse(text);
  if (!url || !/^https?:$/.test(url.protocol)) return usage(`the server's URL must begin with http:// or https://, found "${text}"`);
  // http://good.example@evil.example is a place at evil.example that looks like another.
  if (url.username || url.password) usage(`the server's URL names a user before ${url.host}; leave out everything up to the @`);
  let end = url.pathname.length;
  while (url.pathname[end - 1] === '/') end--;
  return `${url.origin}${url.pathname.slice(0, end)}`;
}

/** Scheme, host and port: what a token is given for. `name.` is `name`, written with the root of all names. */
export function originOf(url: string): string {
  const { protocol, hostname, port } = new URL(url);
  return `${protocol}//${hostname.replace(/\.$/, '')}${port && `:${port}`}`;
}

/** What this machine calls itself, and what a server says that listens on all addresses. */
const thisMachine = ['localhost', '127.0.0.1', '[::1]', '0.0.0.0', '[::]'];

export const isThisMachine = (url: string) => thisMachine.includes(new URL(originOf(url)).hostname);

/** The URLs of a server: one port of this machine is one server under each of its names. */
export function namesOf(url: string): string[] {
  const { protocol, port } = new URL(url);
  return isThisMachine(url) ? thisMachine.map((name) => `${protocol}//${name}:${port}`) : [url];
}

/** Plain HTTP that leaves this machine. */
export const isOverheard = (url: string) => url.startsWith('http:') && !isThisMachine(url) && !/^127\./.test(new URL(url).hostname);
