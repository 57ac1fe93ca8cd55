import { createSocket, type RemoteInfo } from 'node:dgram';
import type { TestContext } from 'node:test';
import { readAddress } from '../address.ts';

const types: Record<number, 'A' | 'AAAA'> = { 1: 'A', 28: 'AAAA' };

export interface Zone {
  /** Addresses by name; a list without members is "no such record", `servfail` and `silence` are what they say. */
  readonly [name: string]: { readonly A: string[] | 'servfail' | 'silence'; readonly AAAA: string[] | 'servfail' | 'silence' };
}

/** A name server on loopback (RFC 1035 4), UDP alone. */
export async function nameServer(t: TestContext, zone: Zone): Promise<{ address: string; asked: string[] }> {
  const socket = createSocket('udp4');
  const asked: string[] = [];
  socket.on('message', (query, from: RemoteInfo) => {
    const labels: string[] = [];
    let at = 12;
    for (let length = query[at]!; length > 0; length = query[at]!) {
      labels.push(query.toString('latin1', at + 1, at + 1 + length));
      at += 1 + length;
    }
    const name = labels.join('.').toLowerCase();
    const type = types[query.readUInt16BE(at + 1)] ?? 'A';
    asked.push(`${type} ${name}`);
    const found = zone[name]?.[type];
    if (found === 'silence') return;
    const answers = Array.isArray(found) ? found.map(record) : [];
    const code = found === undefined ? 3 : found === 'servfail' ? 2 : 0;
    const head = Buffer.from([query[0]!, query[1]!, 0x84 | (query[2]! & 1), 0x80 | code, 0, 1, 0, answers.length, 0, 0, 0, 0]);
    socket.send(Buffer.concat([head, query.subarray(12, at + 5), ...answers]), from.port, from.address);
  });
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  t.after(() => void socket.close());
  return { address: `127.0.0.1:${socket.address().port}`, asked };
}

function record(text: string): Buffer {
  const address = readAddress(text);
  // readAddress folds mapped addresses; a hostile server sends them as they are, in an AAAA.
  const bytes = text.startsWith('::ffff:') ? [...new Array(10).fill(0), 0xff, 0xff, ...address!.bytes] : address!.bytes;
  return Buffer.from([0xc0, 12, 0, bytes.length === 4 ? 1 : 28, 0, 1, 0, 0, 0, 60, 0, bytes.length, ...bytes]);
}
