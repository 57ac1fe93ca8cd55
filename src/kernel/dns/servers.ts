import { Resolver } from 'node:dns';
import { checkedServer } from '../guard/index.ts';
import type { Server } from './transport.ts';

const maxServers = 4;
const rereadMs = 30_000;

/** `10.0.0.53`, `10.0.0.53:5353`, `fd00::53` or `[fd00::53]:5353`. */
function readServer(text: string): Server {
  const [, bracketed, plain = text, port] = /^(?:\[([^\]]+)\]|([^[\]:]+))(?::(\d{1,5}))?$/.exec(text) ?? [];
  return { address: bracketed ?? plain, port: Number(port ?? 53), text };
}

/** The operator's servers, or the system's. Those may change at run time: a laptop moves between networks. */
export function findServers(named: readonly string[]): () => readonly Server[] {
  const fixed = named.map(checkedServer).map(readServer).slice(0, maxServers);
  if (fixed.length) return () => fixed;
  let servers: readonly Server[] = [];
  let readAt = Number.NEGATIVE_INFINITY;
  return () => {
    if (performance.now() - readAt < rereadMs) return servers;
    readAt = performance.now();
    servers = new Resolver().getServers().map(readServer).slice(0, maxServers);
    return servers;
  };
}
