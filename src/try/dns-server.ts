import { createSocket, type RemoteInfo, type Socket as UdpSocket } from 'node:dgram';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { guarded } from '../kernel/faults/guarded.ts';

export interface DnsListener {
  /** The same for UDP and TCP. */
  port: number;
  close(): void;
}

/** The replies to one query, in order. An exception or a rejection leaves it without one. */
export type AnswerDns = (message: Buffer, by: 'udp' | 'tcp') => readonly Buffer[] | Promise<readonly Buffer[]>;

/** A query by TCP is at most this long; a connection holds no more than one. */
const maxQueryBytes = 4_096;
const maxConnections = 64;
const idleMs = 10_000;

/** A DNS endpoint on loopback by UDP and TCP (RFC 1035), on a port that is free for both. */
export async function listenForDns(answer: AnswerDns): Promise<DnsListener> {
  const { tcp, udp, port } = await listenOnBoth();
  const open = new Set<Socket>();
  tcp.maxConnections = maxConnections;
  const takeUdp = (message: Buffer, from: RemoteInfo) =>
    void replyTo(answer, message, 'udp', (reply) => udp.send(reply, from.port, from.address));
  udp.on('message', guarded('try.dns.udp', undefined, takeUdp));
  const takeTcp = (socket: Socket) => {
    open.add(socket);
    socket.on('close', () => open.delete(socket)).on('error', () => {});
    socket.setTimeout(idleMs, () => socket.destroy());
    answerTcp(answer, socket);
  };
  tcp.on(
    'connection',
    guarded('try.dns.tcp', ([socket]) => socket, takeTcp),
  );
  return {
    port,
    close: () => {
      udp.close();
      tcp.close();
      for (const socket of open) socket.destroy();
    },
  };
}

/** Another program may have one of the two. */
async function listenOnBoth(): Promise<{ tcp: Server; udp: UdpSocket; port: number }> {
  for (let tries = 0; tries < 20; tries++) {
    const tcp = createServer().listen(0, '127.0.0.1');
    await once(tcp, 'listening');
    const { port } = tcp.address() as AddressInfo;
    const udp = createSocket('udp4');
    const isBound = await new Promise<boolean>((resolve) => {
      udp.once('error', () => resolve(false));
      udp.bind(port, '127.0.0.1', () => resolve(true));
    });
    if (isBound) {
      // A client that has closed its port makes a later receive fail; the endpoint goes on.
      udp.on('error', () => {});
      return { tcp, udp, port };
    }
    udp.close();
    tcp.close();
  }
  throw new Error('no port is free for both UDP and TCP');
}

async function replyTo(answer: AnswerDns, message: Buffer, by: 'udp' | 'tcp', send: (reply: Buffer) => void): Promise<void> {
  try {
    for (const reply of await answer(message, by)) send(reply);
  } catch {
    // A query that cannot be read, or a server that is stopping: the client asks again.
  }
}

function answerTcp(answer: AnswerDns, socket: Socket) {
  let buffered = Buffer.alloc(0);
  const read = (chunk: Buffer) => {
    buffered = Buffer.concat([buffered, chunk]);
    while (buffered.length >= 2 && buffered.length >= 2 + buffered.readUInt16BE(0)) {
      const message = buffered.subarray(2, 2 + buffered.readUInt16BE(0));
      buffered = buffered.subarray(2 + message.length);
      void replyTo(answer, message, 'tcp', (reply) => {
        const size = Buffer.alloc(2);
        size.writeUInt16BE(reply.length);
        if (!socket.destroyed) socket.write(Buffer.concat([size, reply]));
      });
    }
    if (buffered.length > maxQueryBytes) socket.destroy();
  };
  socket.on('data', guarded('try.dns.query', socket, read));
}
