import { createSocket } from 'node:dgram';
import { connect, isIPv6 } from 'node:net';
import { guarded } from '../faults/guarded.ts';

export interface Server {
  address: string;
  port: number;
  /** The form for display. */
  text: string;
}

/** One message out, and the result of `read` for the first message back that it accepts. */
export interface Exchange<T> {
  server: Server;
  query: Buffer;
  read(message: Buffer): T | undefined;
  timeoutMs: number;
  signal?: AbortSignal | undefined;
}

/** The number of spoofed replies to one query before it is given up. */
const maxSpoofedReplies = 16;

/**
 * On a socket of its own, so that its port is as hard to guess as the id. Connected, so that the system drops packets from elsewhere and
 * reports a closed port at once. Undefined: no answer in time.
 */
export const exchangeUdp = <T>({ server, query, read, timeoutMs, signal }: Exchange<T>): Promise<T | undefined> =>
  settleOnce(timeoutMs, signal, (settle) => {
    const socket = createSocket(isIPv6(server.address) ? 'udp6' : 'udp4');
    let spoofedReplies = 0;
    // A message that cannot be read counts as no answer.
    const peer = { destroy: () => settle(undefined) };
    socket.on('error', guarded('dns.udp.error', peer, peer.destroy));
    socket.on(
      'message',
      guarded('dns.udp.message', peer, (message) => {
        const reply = read(message);
        if (reply !== undefined || ++spoofedReplies >= maxSpoofedReplies) settle(reply);
      }),
    );
    const ask = (error?: Error) => (error ? settle(undefined) : socket.send(query));
    socket.connect(server.port, server.address, guarded('dns.udp.connect', peer, ask));
    return () => void socket.close();
  });

/** RFC 1035 4.2.2: a length precedes each message. */
export const exchangeTcp = <T>({ server, query, read, timeoutMs, signal }: Exchange<T>): Promise<T | undefined> =>
  settleOnce(timeoutMs, signal, (settle) => {
    const socket = connect({ host: server.address, port: server.port });
    const length = Buffer.alloc(2);
    let message: Buffer | undefined;
    let got = 0;
    const ended = guarded('dns.tcp.ended', socket, () => settle(undefined));
    socket.on('error', ended).on('close', ended);
    const onData = (chunk: Buffer) => {
      for (let rest = chunk; rest.length > 0; ) {
        const into: Buffer = message ?? length;
        const taken = rest.copy(into, got);
        rest = rest.subarray(taken);
        got += taken;
        if (got < into.length) continue;
        if (message) return settle(read(message));
        message = Buffer.alloc(length.readUInt16BE(0));
        got = 0;
        if (message.length === 0) return settle(undefined);
      }
    };
    socket.on('data', guarded('dns.tcp.data', socket, onData));
    const size = Buffer.alloc(2);
    size.writeUInt16BE(query.length);
    socket.write(Buffer.concat([size, query]));
    return () => void socket.destroy();
  });

/** The first to settle counts: an answer, a failure, the timeout or the signal. Then the resource that `begin` opened is closed. */
function settleOnce<T>(ms: number, signal: AbortSignal | undefined, begin: (settle: (value: T | undefined) => void) => () => void) {
  return new Promise<T | undefined>((resolve) => {
    let end: (() => void) | undefined;
    let settled = false;
    const settle = (value: T | undefined) => {
      if (settled) return;
      settled = true;
      clearTimeout(timer);
      signal?.removeEventListener('abort', giveUp);
      end?.();
      resolve(value);
    };
    const giveUp = () => settle(undefined);
    const timer = setTimeout(giveUp, Math.max(0, ms));
    signal?.addEventListener('abort', giveUp);
    if (signal?.aborted) return giveUp();
    end = begin(settle);
    if (settled) end();
  });
}
