import { Agent as HttpAgent, request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { getCACertificates } from 'node:tls';
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import Type from 'typebox';
import { Compile } from 'typebox/schema';
import { GrowingBuffer } from '../../../kernel/buffers/growing-buffer.ts';
import { exitCodes, Stop } from '../../../kernel/errors.ts';
import { guarded } from '../../../kernel/faults/guarded.ts';
import { joinChunks } from '../../../kernel/guard/index.ts';
import {
  Assignment,
  type AssignmentsResponse,
  type Batch,
  BatchResponse,
  paths,
  pollSeconds,
  SessionResponse,
} from '../../../protocols/agent.ts';

/** The server answered with an error. */
export class ServerRefusal extends Error {
  readonly status: number;

  constructor(status: number, sentence: string) {
    super(`the server answered ${status}${sentence && `: ${sentence}`}`);
    this.name = 'ServerRefusal';
    this.status = status;
  }
}

/** The prober's client of a server. Every call throws when it fails. */
export interface Link {
  session(instance: string, version: string, now: number): Promise<SessionResponse>;
  /** Waits for a change. Assignments that this version does not understand are left out, and counted. */
  assignments(instance: string, since: string | undefined, signal: AbortSignal): Promise<AssignmentsResponse & { unknown: number }>;
  /** Resolves once it is stored for good. */
  results(batch: Batch): Promise<void>;
  close(): void;
}

const maxAnswerBytes = 64 * 2 ** 20;
/** Below it, packing costs more than sending. */
const packedBytes = 4096;
const answerMs = 15_000;

const isSession = Compile(SessionResponse);
const isBatchResponse = Compile(BatchResponse);
const isAssignment = Compile(Assignment);
/** Each assignment is validated by itself: an unknown one from a newer server must not reject the others. */
const isAssignments = Compile(
  Type.Object({ cursor: Type.String(), full: Type.Boolean(), assignments: Type.Array(Type.Unknown()), removed: Type.Array(Type.String()) }),
);

const pack = promisify(gzip);
const unpack = promisify(gunzip);

export function openLink(place: { readonly socketPath: string } | { readonly server: string; readonly token: string }): Link {
  const { base, headers, request, agent } =
    'socketPath' in place ? throughSocket(place.socketPath) : throughNetwork(place.server, place.token);

  const send = (method: string, path: string, body: Buffer | null, more: { packed?: boolean; signal?: AbortSignal; timeoutMs: number }) =>
    new Promise<unknown>((resolve, reject) => {
      const outgoing = request({
        ...base,
        agent,
        method,
        path: `${base.path ?? ''}${path}`,
        headers: {
          ...headers,
          accept: 'application/json',
          'accept-encoding': 'gzip',
          ...(body === null ? {} : { 'content-type': 'application/json', 'content-length': body.length }),
          ...(more.packed ? { 'content-encoding': 'gzip' } : {}),
        },
        signal: more.signal,
      });
      const late = setTimeout(
        () => outgoing.destroy(new Error(`the server did not answer within ${more.timeoutMs / 1000} s`)),
        more.timeoutMs,
      );
      const end = (settle: () => void) => {
        clearTimeout(late);
        settle();
      };
      outgoing.on(
        'error',
        guarded('prober.delivery.link.error', outgoing, (error) => end(() => reject(error))),
      );
      outgoing.on(
        'response',
        guarded('prober.delivery.link.response', outgoing, (response) => {
          joinChunks(response);
          read(response).then(
            (answer) => end(() => resolve(answer)),
            (error) => end(() => reject(error)),
          );
        }),
      );
      outgoing.end(body ?? undefined);
    });

  const post = async (path: string, value: unknown) => {
    const plain = Buffer.from(JSON.stringify(value));
    const packed = plain.length > packedBytes;
    return send('POST', path, packed ? await pack(plain, { level: 1 }) : plain, { packed, timeoutMs: answerMs });
  };

  return {
    session: async (instance, version, now) => {
      const answer = await post(paths.session, { instance, version, now });
      return isSession.Check(answer) ? answer : misunderstood();
    },
    assignments: async (instance, since, signal) => {
      const query = new URLSearchParams({ instance, ...(since === undefined ? {} : { since }) });
      const answer = await send('GET', `${paths.assignments}?${query}`, null, { signal, timeoutMs: (pollSeconds + 30) * 1000 });
      if (!isAssignments.Check(answer)) return misunderstood();
      const assignments = answer.assignments.filter((each) => isAssignment.Check(each));
      return { ...answer, assignments, unknown: answer.assignments.length - assignments.length };
    },
    results: async (batch) => {
      if (!isBatchResponse.Check(await post(paths.results, batch))) misunderstood();
    },
    close: () => agent.destroy(),
  };
}

const misunderstood = (): never => {
  throw new Error('the server answered with something that no Quarterdeck server says; look at --server');
};

function throughSocket(socketPath: string) {
  const agent = new HttpAgent({ keepAlive: true });
  return { base: { socketPath, host: 'localhost' } as RequestOptions, headers: {}, request: httpRequest, agent };
}

function throughNetwork(server: string, token: string) {
  const url = serverUrl(server);
  let path = url.pathname;
  while (path.endsWith('/')) path = path.slice(0, -1);
  const base: RequestOptions = {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port || undefined,
    path,
  };
  const headers = { authorization: `Bearer ${token}` };
  if (url.protocol === 'http:') return { base, headers, request: httpRequest, agent: new HttpAgent({ keepAlive: true }) };
  // Those that Node brings (and NODE_EXTRA_CA_CERTS) and those of the machine: a server inside a company has a certificate of its own.
  const ca = [...getCACertificates('default'), ...getCACertificates('system')];
  return { base, headers, request: httpsRequest, agent: new HttpsAgent({ keepAlive: true, ca }) };
}

function serverUrl(server: string): URL {
  const url = URL.canParse(server) ? new URL(server) : null;
  if (url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.search === '') return url;
  throw new Stop(exitCodes.usage, `"${server}" is not the URL of a server; write it like https://quarterdeck.example.org`);
}

/** Plain HTTP that leaves this machine. */
export function isOverheard(server: string): boolean {
  const { protocol, hostname } = serverUrl(server);
  return protocol === 'http:' && !/^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);
}

async function read(response: IncomingMessage): Promise<unknown> {
  const sent = new GrowingBuffer(maxAnswerBytes);
  for await (const chunk of response as AsyncIterable<Buffer>) {
    if (sent.length + chunk.length > maxAnswerBytes) throw new Error(`the server answered with more than ${maxAnswerBytes} bytes`);
    sent.add(chunk);
  }
  let body = sent.bytes();
  if (response.headers['content-encoding'] === 'gzip') body = await unpack(body, { maxOutputLength: maxAnswerBytes });
  const status = response.statusCode ?? 0;
  const answer = parsed(body.toString('utf8'));
  if (status >= 200 && status < 300) return answer;
  const sentence = (answer as { error?: unknown } | null)?.error;
  throw new ServerRefusal(status, typeof sentence === 'string' ? sentence.slice(0, 300) : '');
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
