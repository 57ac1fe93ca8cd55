import http from 'node:http';
import https from 'node:https';
import { eventStream } from '../../contract/common.ts';

export interface Answer {
  status: number;
  // Tests look into answers of many shapes; the contract checks the shapes themselves.
  // biome-ignore lint/suspicious/noExplicitAny: see above
  body: any;
  headers: Headers;
}

export interface Caller {
  request(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  get(path: string): Promise<Answer>;
  post(path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  put(path: string, body?: unknown): Promise<Answer>;
  patch(path: string, body?: unknown): Promise<Answer>;
  delete(path: string): Promise<Answer>;
}

const agent = new http.Agent({ keepAlive: true });
/** Its certificate is what tests of certificates look at themselves. */
const secureAgent = new https.Agent({ keepAlive: true, rejectUnauthorized: false });
/** No promise of the product's: so long may a loaded machine take. */
const patienceMs = 60_000;

/** Plain HTTP below /api/v1 with one token. By node:http: a run asks tens of thousands of times, and `fetch` takes three times as much CPU. */
export function caller(url: string, key?: string): Caller {
  const request: Caller['request'] = async (method, path, body, headers = {}) => {
    const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
    const answer = await send(`${url}/api/v1${path}`, text, {
      method,
      headers: {
        ...(key ? { authorization: `Bearer ${key}` } : {}),
        ...(text === undefined ? {} : { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(text)) }),
        ...headers,
      },
    });
    const isJson = (answer.headers.get('content-type') ?? '').includes('json');
    return { ...answer, body: isJson && answer.body ? JSON.parse(answer.body) : answer.body };
  };
  return {
    request,
    get: (path) => request('GET', path),
    post: (path, body, headers) => request('POST', path, body, headers),
    put: (path, body) => request('PUT', path, body),
    patch: (path, body) => request('PATCH', path, body),
    delete: (path) => request('DELETE', path),
  };
}

/** Fails like `fetch`: by what happened to the connection, or by nothing having come within its time. */
const send = (url: string, body: string | undefined, options: http.RequestOptions) =>
  new Promise<{ status: number; headers: Headers; body: string }>((resolve, reject) => {
    const isSecure = url.startsWith('https:');
    const request = (isSecure ? https : http).request(url, { ...options, agent: isSecure ? secureAgent : agent });
    const late = setTimeout(() => request.destroy(new Error(`${options.method} ${url} was not answered in ${patienceMs} ms`)), patienceMs);
    const fail = (error: Error) => {
      clearTimeout(late);
      reject(error);
    };
    request.on('error', fail).on('response', (response) => {
      const parts: Buffer[] = [];
      const answered = () => {
        clearTimeout(late);
        resolve({ status: response.statusCode!, headers: headersOf(response.rawHeaders), body: Buffer.concat(parts).toString() });
      };
      // A stream of events has no end: its first piece is the answer.
      const isEndless = response.headers['content-type'] === eventStream;
      response
        .on('error', (error) => (isEndless ? answered() : fail(error)))
        .on('data', (part: Buffer) => {
          parts.push(part);
          if (isEndless) response.destroy();
        })
        .on(isEndless ? 'close' : 'end', answered);
    });
    request.end(body);
  });

function headersOf(raw: string[]): Headers {
  const headers = new Headers();
  for (let i = 0; i < raw.length; i += 2) headers.append(raw[i]!, raw[i + 1]!);
  return headers;
}
