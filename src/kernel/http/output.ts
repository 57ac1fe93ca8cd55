import { hash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { planeHeaders } from './plane.ts';

type Coding = 'identity' | 'gzip' | 'br';

/** One body in each requested coding, encoded once on first use. */
export interface Output {
  send(request: IncomingMessage, response: ServerResponse, more?: readonly string[]): void;
}

const brotliAsync = promisify(brotliCompress);
const gzipAsync = promisify(gzip);
const minCompressibleBytes = 860; // smaller bodies fit one packet anyway

export interface OutputOptions {
  type: string;
  /** Further headers; names and values alternate. */
  headers: readonly string[];
}

interface EncodedBody {
  headers: string[];
  bytes: Buffer;
}

export function makeOutput(body: string | Buffer, { type, headers }: OutputOptions): Output {
  const plain = typeof body === 'string' ? Buffer.from(body) : body;
  const tag = hash('sha256', plain, 'base64url').slice(0, 22);
  const compressible = plain.length > minCompressibleBytes && !type.startsWith('image/');
  const fixed = ['Content-Type', type, ...(compressible ? ['Vary', 'Accept-Encoding'] : []), ...headers];
  const ready = new Map<Coding, EncodedBody>();
  const making = new Map<Coding, Promise<EncodedBody>>();

  const keep = (coding: Coding, bytes: Buffer): EncodedBody => {
    const made = {
      bytes,
      headers: [
        ...fixed,
        'ETag',
        coding === 'identity' ? `"${tag}"` : `"${tag}-${coding}"`,
        'Content-Length',
        String(bytes.length),
        ...(coding === 'identity' ? [] : ['Content-Encoding', coding]),
      ],
    };
    ready.set(coding, made);
    return made;
  };
  keep('identity', plain);

  const make = (coding: Coding): Promise<EncodedBody> => {
    const known = making.get(coding);
    if (known) return known;
    const encoded =
      coding === 'br'
        ? brotliAsync(plain, { params: { [constants.BROTLI_PARAM_QUALITY]: 6, [constants.BROTLI_PARAM_SIZE_HINT]: plain.length } })
        : gzipAsync(plain);
    const made = encoded.then((bytes) => keep(coding, bytes));
    making.set(coding, made);
    return made;
  };

  return {
    send: (request, response, more) => {
      const asked = request.headers['if-none-match'];
      if (asked !== undefined && (asked.includes(tag) || asked === '*')) {
        // RFC 9110, 15.4.5: the headers of a 200, without those of the body.
        const { headers: full } = ready.get('identity')!;
        return void response.writeHead(304, planeHeaders(request, [...withoutLength(full), ...(more ?? [])])).end();
      }
      const coding = compressible ? codingFor(request.headers['accept-encoding']) : 'identity';
      const made = ready.get(coding);
      if (made) return write(request, response, made, more);
      make(coding).then(
        (fresh) => write(request, response, fresh, more),
        () => write(request, response, ready.get('identity')!, more),
      );
    },
  };
}

function write(request: IncomingMessage, response: ServerResponse, { headers, bytes }: EncodedBody, more: readonly string[] | undefined) {
  response.writeHead(200, planeHeaders(request, more ? [...headers, ...more] : headers));
  if (request.method === 'HEAD') response.end();
  else response.end(bytes);
}

const withoutLength = (headers: readonly string[]) => {
  const at = headers.indexOf('Content-Length');
  return headers.toSpliced(at, 2);
};

/** RFC 9110, 12.5.3, for two codings. Browsers send few different headers, so results are cached. */
const codingByHeader = new Map<string, Coding>();

export function codingFor(header: string | undefined): Coding {
  if (header === undefined || header === '') return 'identity';
  let coding = codingByHeader.get(header);
  if (!coding) {
    coding = chooseCoding(header);
    if (codingByHeader.size < 200) codingByHeader.set(header, coding);
  }
  return coding;
}

function chooseCoding(header: string): Coding {
  const wanted = new Map(
    header
      .toLowerCase()
      .split(',')
      .map((part) => {
        const [name = '', ...parameters] = part.split(';').map((p) => p.trim());
        const q = parameters.find((p) => p.startsWith('q='))?.slice(2);
        return [name, q === undefined ? 1 : Number(q) || 0] as const;
      }),
  );
  const of = (name: string) => wanted.get(name) ?? wanted.get('*') ?? 0;
  if (of('br') > 0 && of('br') >= of('gzip')) return 'br';
  return of('gzip') > 0 ? 'gzip' : 'identity';
}
