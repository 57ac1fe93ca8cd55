import { readAddress } from '../../../kernel/guard/address.ts';

/** One end of a connection. */
export interface ConnectionEnd {
  address: string;
  port: number;
}

export type ProxyProtocol = 'v1' | 'v2';

const signature = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1');

/** The PROXY protocol's header (haproxy's proxy-protocol.txt, 2.1 and 2.2): it tells a pod the client's address, ahead of the first byte. */
export function proxyHeader(version: ProxyProtocol, client: ConnectionEnd, server: ConnectionEnd): Buffer {
  const [from, to] = [readAddress(client.address), readAddress(server.address)];
  const isKnown = from !== null && to !== null && from.family === to.family;
  if (version === 'v1') {
    if (!isKnown) return Buffer.from('PROXY UNKNOWN\r\n');
    return Buffer.from(`PROXY TCP${from.family} ${from.text} ${to.text} ${client.port} ${server.port}\r\n`);
  }
  if (!isKnown) return Buffer.concat([signature, Buffer.from([0x20, 0, 0, 0])]); // LOCAL: nothing is told
  const addresses = Buffer.from([...from.bytes, ...to.bytes]);
  const head = Buffer.from([0x21, from.family === 4 ? 0x11 : 0x21, 0, addresses.length + 4]);
  const ports = Buffer.alloc(4);
  ports.writeUInt16BE(client.port, 0);
  ports.writeUInt16BE(server.port, 2);
  return Buffer.concat([signature, head, addresses, ports]);
}
