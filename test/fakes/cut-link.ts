import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import type { TestContext } from 'node:test';

/** A network path to a server that can go dead without telling anybody: connections stay open, nothing arrives any more. */
export interface CutLink {
  port: number;
  cut(): void;
  /** The path is back, and the connections of before are known to be gone. */
  mend(): void;
  /** The path is back as if it had only been slow: everything arrives late. */
  thaw(): void;
  /** The connection that next sends this text goes dead in front of it; others go on. `thaw` lets it through, late. */
  stallAt(text: string): void;
  /** How many connections have come so far. */
  taken(): number;
}

/** On loopback TCP, to a TCP port or a unix socket. */
export async function cutLink(t: TestContext, to: { host: string; port: number } | { path: string }): Promise<CutLink> {
  let dead = false;
  let taken = 0;
  let stallBefore: string | undefined;
  const sockets = new Set<Socket>();
  const ended = new Set<() => void>();
  const server = createServer({ pauseOnConnect: true }, (near) => {
    taken++;
    const far = connect(to as never);
    const end = () => {
      near.destroy();
      far.destroy();
    };
    for (const [from, into] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.on('data', (chunk) => {
        if (stallBefore === undefined || from !== near || !chunk.includes(stallBefore)) return into.write(chunk);
        stallBefore = undefined;
        from.pause();
        from.unshift(chunk);
      });
      // Of an end, too, the other side hears only once the path is back.
      from
        .on('error', () => {})
        .on('close', () => {
          sockets.delete(from);
          if (dead) ended.add(end);
          else end();
        });
      dead ? from.pause() : from.resume();
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const destroyAll = () => {
    for (const socket of sockets) socket.destroy();
  };
  t.after(() => {
    server.close();
    destroyAll();
  });
  return {
    taken: () => taken,
    stallAt: (text) => {
      stallBefore = text;
    },
    port: (server.address() as AddressInfo).port,
    cut: () => {
      dead = true;
      for (const socket of sockets) socket.pause();
    },
    mend: () => {
      dead = false;
      destroyAll();
    },
    thaw: () => {
      dead = false;
      for (const end of ended) end();
      for (const socket of sockets) socket.resume();
    },
  };
}
