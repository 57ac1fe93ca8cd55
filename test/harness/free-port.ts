import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * A port of this machine that nobody listens on, for programs that cannot choose one themselves.
 * It lies below those that systems give away by themselves, so that no connection of another test takes it before it is used,
 * nor while whoever listened there is dead.
 */
export async function freePort(): Promise<number> {
  for (let attempt = 1; ; attempt++) {
    const port = randomInt(10_000, 32_000);
    const server = createServer().listen(port, '127.0.0.1');
    try {
      await once(server, 'listening');
    } catch (error) {
      if (attempt < 20) continue;
      throw error;
    }
    server.close();
    await once(server, 'close');
    return port;
  }
}
