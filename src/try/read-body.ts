import type { IncomingMessage } from 'node:http';

/** The body; undefined if it is larger than this. The rest of a larger one is read and dropped. */
export async function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += (chunk as Buffer).length;
    if (bytes <= maxBytes) chunks.push(chunk as Buffer);
    else chunks.length = 0;
  }
  return bytes <= maxBytes ? Buffer.concat(chunks) : undefined;
}
