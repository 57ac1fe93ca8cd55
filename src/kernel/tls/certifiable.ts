import { isIP } from 'node:net';

/** Names that no DNS holds, public or private: RFC 6761, 7686. */
const never: ReadonlySet<string> = new Set(['localhost', 'invalid', 'onion', 'arpa']);
const labels = /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])$/;

/** Whether an authority could certify this host, a private one too. It is in lower case and ASCII. */
export const isCertifiable = (host: string): boolean =>
  host.length <= 253 && !isIP(host) && labels.test(host) && !never.has(host.slice(host.lastIndexOf('.') + 1));
