import type { IncomingMessage } from 'node:http';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { Refusal } from '../../../../kernel/errors.ts';
import type { ByteReservation } from '../../../../kernel/fairness/index.ts';
import { bodyMemoryFull, readBody } from '../../../../kernel/http/body.ts';
import { readJsonInSteps } from '../../../../kernel/http/json.ts';
import { runYielding } from '../../../../kernel/yielding.ts';

const unpack = promisify(gunzip);

/** A batch of 500 results with the longest snippets and details, escaped, stays below these limits. */
const limits = { wire: 2 * 2 ** 20, unpacked: 8 * 2 ** 20, values: 200_000 };

/** A JSON body, plain or gzipped, bounded on the wire and unpacked. */
export async function readJson(request: IncomingMessage, held: ByteReservation): Promise<unknown> {
  const type = request.headers['content-type'] ?? '';
  if (!/^application\/json\s*(;|$)/i.test(type)) throw new Refusal(415, 'unsupported_media_type', 'send the body as application/json');
  const encoding = (request.headers['content-encoding'] ?? 'identity').trim().toLowerCase();
  if (encoding !== 'gzip' && encoding !== 'identity')
    throw new Refusal(
      415,
      'unsupported_media_type',
      `the content encoding ${encoding.slice(0, 20)} is not understood; send it plain or with gzip`,
    );
  const sent = await readBody(request, { maxBytes: encoding === 'gzip' ? limits.wire : limits.unpacked, totalMs: 30_000, held });
  const bytes = encoding === 'gzip' ? await unpacked(sent, held) : sent;
  return runYielding(readJsonInSteps(bytes, limits));
}

/** A few KiB unpack to megabytes: the unpacked bytes count against the budget as well. */
async function unpacked(sent: Buffer, held: ByteReservation): Promise<Buffer> {
  const bytes = await unpack(sent, { maxOutputLength: limits.unpacked }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ERR_BUFFER_TOO_LARGE')
      throw new Refusal(413, 'too_large', `the body is larger than ${limits.unpacked} bytes when unpacked`);
    throw new Refusal(400, 'invalid', 'the body is not valid gzip');
  });
  if (!held.reserve(bytes.length)) throw bodyMemoryFull();
  return bytes;
}
