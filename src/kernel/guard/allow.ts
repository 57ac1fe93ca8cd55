import { exitCodes, Stop } from '../errors.ts';
import { append } from '../steps.ts';
import { type Network, readAddress } from './address.ts';

export const setting = 'QUARTERDECK_ALLOW_PRIVATE_CIDRS';

/** The purposes of outbound connections. Each is named in its refusals, and can have its own list. */
const uses: readonly string[] = ['uptime', 'webhook', 'oidc', 'upstream', 'mx', 'smarthost', 'dns', 'node'];

/** Networks that the operator opens beyond the public internet: for every use, and by use. */
export interface Allow {
  readonly everyUse: readonly Network[];
  readonly byUse: ReadonlyMap<string, readonly Network[]>;
  /** If present, every use may reach these networks and no other, the public internet included. */
  readonly only?: readonly Network[];
}

const refuse = (sentence: string): never => {
  throw new Stop(exitCodes.configuration, `${setting}: ${sentence}`);
};

function parseNetwork(text: string): Network {
  const [, host = '', bitsText] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? refuse(`"${text}" is not a network; write it like 10.0.0.0/8`);
  const address = readAddress(host) ?? refuse(`"${text}" is not a network; write it like 10.0.0.0/8 or fd00::/8`);
  if (host.includes(':') && address.family === 4) refuse(`"${text}" is an IPv4 network in IPv6 clothes; write it as IPv4`);
  const width = address.family === 4 ? 32 : 128;
  const bits = bitsText === undefined ? width : Number(bitsText);
  if (bits > width) refuse(`"${text}" has a prefix longer than ${width} bits`);
  // A typing mistake here opens a network, so nothing is guessed: 10.0.0.1/8 may mean one host or all of them.
  const spare = address.bytes.some((byte, at) => (byte & (0xff >> Math.min(8, Math.max(0, bits - at * 8)))) !== 0);
  if (spare) refuse(`"${text}" has bits set after its prefix; write the network's first address, or ${host}/${width} for this host alone`);
  return { address, bits };
}

const parseNetworks = (list: string) =>
  list
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')
    .map(parseNetwork);

/**
 * `10.0.0.0/8,127.0.0.1/32` for every use, `uptime=127.0.0.0/8;webhook=10.1.0.0/16` by use. Both can be mixed, separated by `;`.
 * `only=127.0.0.0/8` opens a network for every use and closes all others, the public internet included: `serve --try` sets it.
 */
export function parseAllow(text: string): Allow {
  const everyUse: Network[] = [];
  const byUse = new Map<string, Network[]>();
  let only: Network[] | undefined;
  for (const part of text.split(';')) {
    const [, use, list = part] = /^\s*([a-z][a-z0-9-]*)\s*=(.*)$/s.exec(part) ?? [];
    if (use === 'only') {
      only = [...(only ?? []), ...parseNetworks(list)];
      continue;
    }
    if (use !== undefined && !uses.includes(use)) refuse(`"${use}" is no use of connections; there are ${uses.join(', ')}`);
    if (use === undefined) append(everyUse, parseNetworks(list));
    else byUse.set(use, [...(byUse.get(use) ?? []), ...parseNetworks(list)]);
  }
  return only ? { everyUse: [...everyUse, ...only], byUse, only } : { everyUse, byUse };
}

export const allowNothing: Allow = { everyUse: [], byUse: new Map() };

/**
 * Uses whose every byte is a tenant's. Networks that an operator opens for general uses, such as a check of this machine, do not apply to
 * them.
 */
const onlyByName: ReadonlySet<string> = new Set(['node']);

export const allowedNetworks = (allow: Allow, use: string): readonly Network[] => {
  const own = allow.byUse.get(use);
  if (onlyByName.has(use)) return own ?? [];
  return own === undefined ? allow.everyUse : [...allow.everyUse, ...own];
};
