import { connect } from 'node:tls';
import { guarded } from '../../../kernel/faults/guarded.ts';
import type { EtcdKeys } from '../../keys.ts';

const keepAliveMs = 10_000;

/** Calls `onEnd` once when the program behind this port ends: the kernel closes its connections at that moment, however it ends. Returns what
 *  stops watching. */
export function watchEnd(port: number, { authority, client }: Pick<EtcdKeys, 'authority' | 'client'>, onEnd: () => void): () => void {
  const socket = connect({
    host: '127.0.0.1',
    port,
    ca: authority.certificate,
    cert: client.certificate,
    key: client.key,
    // The server sends nothing before it is asked.
    ALPNProtocols: ['http/1.1'],
  });
  socket.unref();
  socket.setKeepAlive(true, keepAliveMs);
  socket.on('error', () => {}); // it is closed next
  socket.once(
    'secureConnect',
    guarded('clusters.process.watch-end.connect', socket, () => {
      socket.resume();
      socket.once('close', guarded('clusters.process.watch-end.close', socket, onEnd));
    }),
  );
  return () => {
    socket.removeAllListeners('close').on('error', () => {});
    socket.destroy();
  };
}
