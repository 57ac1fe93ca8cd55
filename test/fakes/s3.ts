import { createHash, createHmac, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A small S3 over HTTP on loopback: path style, signatures checked (header and presigned), parts that are too small refused, and
 *  trouble on demand. It keeps to what the real one documents, so that what passes here passes there. */
export interface FakeS3 {
  endpoint: string;
  region: string;
  bucket: string;
  accessKeyId: string;
  secretAccessKey: string;
  forcePathStyle: true;
  /** For whoever is to send smaller parts than the real one takes. */
  partBytes?: number;
  objects: Map<string, S3Object>;
  multiparts: Map<string, { key: string; begunAt: Date; parts: Map<number, S3Object> }>;
  /** Asked for every request; what it returns goes wrong. */
  trouble: (request: { operation: string; key: string }) => Trouble | undefined;
  /** How far the server's clock is ahead, for signatures that expire. */
  aheadMs: number;
  stop(): Promise<void>;
  start(): Promise<void>;
}

/** An error answer; a connection cut before the work, after it, or halfway through the answer; silence. */
type Trouble = { status: number; code: string } | 'cut' | 'cut after' | 'cut body' | 'silence';

interface S3Object {
  body: Buffer;
  etag: string;
  modifiedAt: Date;
}

interface Answer {
  status: number;
  headers?: Record<string, string | number>;
  body?: string | Buffer;
}

interface Asked {
  fake: FakeS3;
  key: string;
  query: URLSearchParams;
  headers: IncomingMessage['headers'];
  body: Buffer;
}

class Refused extends Error {
  readonly status: number;
  constructor(status: number, code: string) {
    super(code);
    this.status = status;
  }
}

const leastPart = 5 * 1024 * 1024;

/** With `partBytes` it takes parts as much smaller as those are than the 8 MiB that they have in earnest. */
export async function fakeS3(options: Pick<FakeS3, 'partBytes'> = {}): Promise<FakeS3> {
  let port = 0;
  const server = createServer((request, response) => void serve(fake, request, response));
  const fake: FakeS3 = {
    endpoint: '',
    region: 'eu-test-1',
    bucket: 'blobs',
    accessKeyId: 'AKIDFAKE',
    secretAccessKey: 'not/a+real=secret',
    forcePathStyle: true,
    ...options,
    objects: new Map(),
    multiparts: new Map(),
    trouble: () => undefined,
    aheadMs: 0,
    async start() {
      await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, '127.0.0.1', resolve));
      port = (server.address() as AddressInfo).port;
      fake.endpoint = `http://127.0.0.1:${port}`;
    },
    async stop() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
  await fake.start();
  return fake;
}

async function serve(fake: FakeS3, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = new URL(request.url!, fake.endpoint);
  const [, bucket, ...rest] = decodeURIComponent(url.pathname).split('/');
  const key = rest.join('/');
  const operation = operationOf(request, url.searchParams, key);
  const trouble = fake.trouble({ operation, key });
  if (trouble === 'silence') return;
  if (trouble === 'cut') return void request.socket.resetAndDestroy();

  let answer: Answer;
  try {
    const body = Buffer.concat(await request.toArray());
    checkSignature(fake, request, url, body);
    if (typeof trouble === 'object') throw new Refused(trouble.status, trouble.code);
    if (bucket !== fake.bucket) throw new Refused(404, 'NoSuchBucket');
    if (request.headers['content-encoding']) throw new Refused(501, 'NotImplemented');
    const work = operations[operation] ?? refuse(501, 'NotImplemented');
    answer = work({ fake, key, query: url.searchParams, headers: request.headers, body });
  } catch (error) {
    if (!(error instanceof Refused)) return void request.socket.resetAndDestroy();
    answer = { status: error.status, body: `<Error><Code>${error.message}</Code><Message>refused by the fake</Message></Error>` };
  }

  if (trouble === 'cut after') return void request.socket.resetAndDestroy();
  const content = Buffer.from(answer.body ?? '');
  const type = typeof answer.body === 'string' ? { 'content-type': 'application/xml' } : {};
  response.writeHead(answer.status, { 'content-length': content.length, ...type, ...answer.headers });
  if (request.method === 'HEAD') return void response.end();
  if (trouble !== 'cut body') return void response.end(content);
  response.write(content.subarray(0, content.length / 2), () => request.socket.resetAndDestroy());
}

function operationOf(request: IncomingMessage, query: URLSearchParams, key: string): string {
  const copy = request.headers['x-amz-copy-source'] !== undefined;
  if (key === '') return query.has('uploads') ? 'ListMultipartUploads' : 'ListObjectsV2';
  if (request.method === 'HEAD') return 'HeadObject';
  if (request.method === 'GET') return 'GetObject';
  if (request.method === 'DELETE') return query.has('uploadId') ? 'AbortMultipartUpload' : 'DeleteObject';
  if (request.method === 'POST') return query.has('uploads') ? 'CreateMultipartUpload' : 'CompleteMultipartUpload';
  if (query.has('uploadId')) return copy ? 'UploadPartCopy' : 'UploadPart';
  return copy ? 'CopyObject' : 'PutObject';
}

const operations: Record<string, (asked: Asked) => Answer> = {
  PutObject({ fake, key, body }) {
    const object = stored(body);
    fake.objects.set(key, object);
    return { status: 200, headers: { etag: object.etag } };
  },
  CopyObject({ fake, key, headers }) {
    const object = stored(copySource(fake, headers).body);
    fake.objects.set(key, object);
    return xml(
      `<CopyObjectResult><ETag>${object.etag}</ETag><LastModified>${object.modifiedAt.toISOString()}</LastModified></CopyObjectResult>`,
    );
  },
  HeadObject: (asked) => operations.GetObject!(asked),
  GetObject({ fake, key, query, headers }) {
    const object = fake.objects.get(key) ?? refuse(404, 'NoSuchKey');
    const answered = { 'content-type': query.get('response-content-type') ?? 'application/octet-stream' };
    const disposition = query.get('response-content-disposition');
    const common = {
      ...answered,
      ...(disposition && { 'content-disposition': disposition }),
      etag: object.etag,
      'last-modified': object.modifiedAt.toUTCString(),
      'content-length': object.body.length,
    };
    const [, from, to] = /^bytes=(\d+)-(\d*)$/.exec(headers.range ?? '') ?? [];
    if (from === undefined) return { status: 200, headers: common, body: object.body };
    const part = object.body.subarray(Number(from), to ? Number(to) + 1 : undefined);
    if (part.length === 0) refuse(416, 'InvalidRange');
    const range = `bytes ${from}-${Number(from) + part.length - 1}/${object.body.length}`;
    return { status: 206, headers: { ...common, 'content-length': part.length, 'content-range': range }, body: part };
  },
  DeleteObject({ fake, key }) {
    fake.objects.delete(key);
    return { status: 204 };
  },
  ListObjectsV2({ fake, query }) {
    const after = query.get('continuation-token') ?? query.get('start-after') ?? '';
    const keys = [...fake.objects.keys()].filter((key) => key.startsWith(query.get('prefix') ?? '') && key > after).sort();
    const slice = keys.slice(0, sliceSize);
    const contents = slice.map((key) => {
      const { body, modifiedAt, etag } = fake.objects.get(key)!;
      const fields = `<LastModified>${modifiedAt.toISOString()}</LastModified><ETag>${etag}</ETag><Size>${body.length}</Size>`;
      return `<Contents><Key>${key}</Key>${fields}</Contents>`;
    });
    const more = keys.length > slice.length;
    const next = more ? `<NextContinuationToken>${slice.at(-1)}</NextContinuationToken>` : '';
    return xml(`<ListBucketResult><IsTruncated>${more}</IsTruncated>${next}${contents.join('')}</ListBucketResult>`);
  },
  CreateMultipartUpload({ fake, key }) {
    const id = randomUUID();
    fake.multiparts.set(id, { key, begunAt: new Date(), parts: new Map() });
    return xml(`<InitiateMultipartUploadResult><Key>${key}</Key><UploadId>${id}</UploadId></InitiateMultipartUploadResult>`);
  },
  UploadPart({ fake, key, query, body }) {
    const part = stored(body);
    multipartOf(fake, key, query).parts.set(Number(query.get('partNumber')), part);
    return { status: 200, headers: { etag: part.etag } };
  },
  UploadPartCopy({ fake, key, query, headers }) {
    const part = stored(copySource(fake, headers).body);
    multipartOf(fake, key, query).parts.set(Number(query.get('partNumber')), part);
    return xml(`<CopyPartResult><ETag>${part.etag}</ETag></CopyPartResult>`);
  },
  CompleteMultipartUpload({ fake, key, query, body }) {
    const { parts } = multipartOf(fake, key, query);
    const named = [...body.toString().matchAll(/<Part>.*?<\/Part>/gs)].map(([part]) => {
      const number = Number(/<PartNumber>(\d+)</.exec(part)?.[1]);
      const etag = /<ETag>([^<]*)</.exec(part)?.[1]?.replaceAll('&quot;', '"');
      const held = parts.get(number);
      return held && held.etag === etag ? { number, held } : refuse(400, 'InvalidPart');
    });
    if (named.length === 0) refuse(400, 'MalformedXML');
    if (named.some(({ number }, index) => index > 0 && number <= named[index - 1]!.number)) refuse(400, 'InvalidPartOrder');
    if (named.slice(0, -1).some(({ held }) => held.body.length < (fake.partBytes === undefined ? leastPart : (fake.partBytes * 5) / 8)))
      refuse(400, 'EntityTooSmall');
    fake.objects.set(key, stored(Buffer.concat(named.map(({ held }) => held.body))));
    fake.multiparts.delete(query.get('uploadId')!);
    return xml(`<CompleteMultipartUploadResult><Key>${key}</Key></CompleteMultipartUploadResult>`);
  },
  AbortMultipartUpload({ fake, key, query }) {
    multipartOf(fake, key, query);
    fake.multiparts.delete(query.get('uploadId')!);
    return { status: 204 };
  },
  ListMultipartUploads({ fake, query }) {
    const all = [...fake.multiparts].filter(([, { key }]) => key.startsWith(query.get('prefix') ?? ''));
    const uploads = all.map(
      ([id, { key, begunAt }]) =>
        `<Upload><Key>${key}</Key><UploadId>${id}</UploadId><Initiated>${begunAt.toISOString()}</Initiated></Upload>`,
    );
    return xml(`<ListMultipartUploadsResult><IsTruncated>false</IsTruncated>${uploads.join('')}</ListMultipartUploadsResult>`);
  },
};

/** Small, so that ordinary tests meet a second slice; the real one has 1000. */
const sliceSize = 5;

const xml = (body: string): Answer => ({ status: 200, body: `<?xml version="1.0" encoding="UTF-8"?>${body}` });
const stored = (body: Buffer): S3Object => ({
  body: Buffer.from(body),
  etag: `"${randomUUID()}"`,
  modifiedAt: new Date(),
});
const refuse = (status: number, code: string): never => {
  throw new Refused(status, code);
};

function multipartOf(fake: FakeS3, key: string, query: URLSearchParams) {
  const found = fake.multiparts.get(query.get('uploadId') ?? '');
  return found?.key === key ? found : refuse(404, 'NoSuchUpload');
}

function copySource(fake: FakeS3, headers: IncomingMessage['headers']): S3Object {
  const [bucket, ...rest] = decodeURIComponent(String(headers['x-amz-copy-source'])).replace(/^\//, '').split('/');
  return (bucket === fake.bucket && fake.objects.get(rest.join('/'))) || refuse(404, 'NoSuchKey');
}

/** AWS Signature Version 4, in the Authorization header or in the query of a presigned address. */
function checkSignature(fake: FakeS3, request: IncomingMessage, url: URL, body: Buffer): void {
  const presigned = url.searchParams.has('X-Amz-Signature');
  const header = /Credential=([^,]+), ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]+)/.exec(request.headers.authorization ?? '') ?? [];
  const [credential, signedHeaders, signature] = presigned
    ? ['X-Amz-Credential', 'X-Amz-SignedHeaders', 'X-Amz-Signature'].map((name) => url.searchParams.get(name)!)
    : header.slice(1);
  if (!credential || !signedHeaders || !signature) throw new Refused(403, 'AccessDenied');

  const [accessKeyId, day, region, service] = credential.split('/');
  if (accessKeyId !== fake.accessKeyId || region !== fake.region || service !== 's3') throw new Refused(403, 'InvalidAccessKeyId');

  const date = presigned ? url.searchParams.get('X-Amz-Date')! : String(request.headers['x-amz-date']);
  const ageMs = Date.now() + fake.aheadMs - Date.parse(date.replace(/^(....)(..)(..)T(..)(..)(..)Z$/, '$1-$2-$3T$4:$5:$6Z'));
  if (presigned && ageMs > Number(url.searchParams.get('X-Amz-Expires')) * 1000) throw new Refused(403, 'AccessDenied');
  if (!presigned && Math.abs(ageMs) > 15 * 60_000) throw new Refused(403, 'RequestTimeTooSkewed');

  const bodyHash = presigned ? 'UNSIGNED-PAYLOAD' : String(request.headers['x-amz-content-sha256']);
  if (bodyHash !== 'UNSIGNED-PAYLOAD' && bodyHash !== sha256(body)) throw new Refused(400, 'XAmzContentSHA256Mismatch');

  const query = [...url.searchParams].filter(([name]) => name !== 'X-Amz-Signature').map((pair) => pair.map(encode).join('='));
  const headers = signedHeaders.split(';').map((name) => `${name}:${String(request.headers[name]).trim()}\n`);
  const canonical = [request.method, url.pathname, query.sort().join('&'), headers.join(''), signedHeaders, bodyHash].join('\n');
  const toSign = ['AWS4-HMAC-SHA256', date, `${day}/${region}/s3/aws4_request`, sha256(canonical)].join('\n');
  const key = [day!, region, 's3', 'aws4_request'].reduce(hmac, Buffer.from(`AWS4${fake.secretAccessKey}`));
  if (hmac(key, toSign).toString('hex') !== signature) throw new Refused(403, 'SignatureDoesNotMatch');
}

const sha256 = (content: string | Buffer) => createHash('sha256').update(content).digest('hex');
const hmac = (key: Buffer, content: string) => createHmac('sha256', key).update(content).digest();
const encode = (text: string) =>
  encodeURIComponent(text).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);
