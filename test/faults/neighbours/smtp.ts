// The SMTP doors, as strangers come to them.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** Ports of the server under attack. */
export interface Doors {
  mx: number;
  submission: number;
}

const open = (port: number, localAddress?: string): Socket =>
  connect({ port, host: '127.0.0.1', ...(localAddress === undefined ? {} : { localAddress }) }).on('error', () => {});

/** Four rounds at once come to 25 addresses with 20 connections each at one door, and 10 with 100 at the other: as many as there is room for. */
export async function idleAtDoors({ mx, submission }: Doors): Promise<void> {
  const many = (port: number, addresses: number, each: number) =>
    Array.from({ length: addresses * each }, (_, n) => open(port, `127.0.3.${2 + (n % addresses)}`));
  const sockets = [...many(mx, 25, 5), ...many(submission, 10, 25)];
  await sleep(5_000);
  for (const socket of sockets) socket.destroy();
}

/** Comes to both doors, and is greeted and answered. */
export async function beGreeted({ mx, submission }: Doors): Promise<void> {
  for (const port of [mx, submission]) {
    const socket = open(port).setTimeout(20_000, () => socket.destroy(new Error('no greeting within 20 s')));
    try {
      for (const [said, expected] of [['', '220 '] as const, ['EHLO b.example\r\n', '250'] as const]) {
        if (said) socket.write(said);
        const [heard] = (await Promise.race([once(socket, 'data'), once(socket, 'close')])) as [Buffer | boolean];
        if (!String(heard).startsWith(expected)) throw new Error(`at an SMTP door: ${String(heard).slice(0, 200)}`);
      }
    } finally {
      socket.destroy();
    }
  }
}
