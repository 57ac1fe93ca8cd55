import type { ClientRequest, IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiResponse } from '../../driver.ts';
import { type ApiserverRequest, responseHead } from './dial.ts';

/** Sends a request to the cluster's API. Undefined: no apiserver is available. */
export type Dial = (dialed: ApiserverRequest) => ClientRequest | undefined;

const limits = {
  answerTimeoutMs: 10_000,
  answerBytes: 32 * 2 ** 20,
  lineBytes: 8 * 2 ** 20,
  rewatchDelayMs: 1_000,
  throttle: { bytes: 2 ** 20, ms: 250 },
};

const unavailable: ApiResponse = {
  status: 503,
  body: { kind: 'Status', apiVersion: 'v1', status: 'Failure', code: 503, reason: 'ServiceUnavailable', message: 'no apiserver answers' },
};

/** An answer above `maxBytes` is refused as 413, before it is parsed. */
export interface Wanted {
  accept: string;
  maxBytes: number;
}

const anyJson: Wanted = { accept: 'application/json', maxBytes: limits.answerBytes };

class AnswerTooLarge extends Error {}

const tooLarge: ApiResponse = {
  status: 413,
  body: {
    kind: 'Status',
    apiVersion: 'v1',
    status: 'Failure',
    code: 413,
    reason: 'RequestEntityTooLarge',
    message: 'the answer is too large',
  },
};

/** Calls the API as the cluster's administrator. A PATCH with a list is a JSON patch, else a merge patch. */
export async function askCluster(
  dial: Dial,
  method: string,
  path: string,
  body?: unknown,
  wanted = anyJson,
  isLast = method === 'POST',
): Promise<ApiResponse> {
  const text = body === undefined ? undefined : JSON.stringify(body);
  const kind = method !== 'PATCH' ? 'json' : Array.isArray(body) ? 'json-patch+json' : 'merge-patch+json';
  const headers = {
    accept: wanted.accept,
    ...(text === undefined ? {} : { 'content-type': `application/${kind}`, 'content-length': Buffer.byteLength(text) }),
  };
  const asked = dial({ method, path, headers, credential: 'admin', signal: AbortSignal.timeout(limits.answerTimeoutMs) });
  if (!asked) return unavailable;
  try {
    asked.end(text);
    return await readAnswer(await responseHead(asked), wanted.maxBytes);
  } catch (error) {
    if (error instanceof AnswerTooLarge) return tooLarge;
    // The apiserver closed an idle connection at the same moment. Everything but POST is sent once more.
    return asked.reusedSocket && !isLast ? askCluster(dial, method, path, body, wanted, true) : unavailable;
  } finally {
    asked.on('error', () => {}); // errors after the response do not matter
  }
}

async function readAnswer(answer: IncomingMessage, maxBytes: number): Promise<ApiResponse> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of answer) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new AnswerTooLarge();
    chunks.push(chunk);
  }
  const text = Buffer.concat(chunks).toString();
  const isJson = String(answer.headers['content-type'] ?? '').startsWith('application/json');
  return { status: answer.statusCode ?? 0, body: isJson ? JSON.parse(text) : text, bytes };
}

// biome-ignore lint/suspicious/noExplicitAny: Kubernetes' objects, of many shapes
export type OnEvent = (event: { type: string; object: any }) => void;

/** Delivers all existing objects, then changes. A broken watch starts again, so an event may come twice. */
export async function watchCluster(dial: Dial, path: string, onEvent: OnEvent, signal: AbortSignal): Promise<void> {
  const question = `${path}${path.includes('?') ? '&' : '?'}watch=1`;
  while (!signal.aborted) {
    await readEvents(dial, question, onEvent, signal).catch(() => {}); // the loop starts the watch again
    await sleep(limits.rewatchDelayMs, undefined, { signal, ref: false }).catch(() => {});
  }
}

async function readEvents(dial: Dial, path: string, onEvent: OnEvent, signal: AbortSignal): Promise<void> {
  const asked = dial({ method: 'GET', path, headers: { accept: 'application/json' }, credential: 'admin', signal });
  if (!asked) return;
  asked.on('error', () => {});
  asked.end();
  const answer = await responseHead(asked);
  if (answer.statusCode !== 200) return void answer.resume();
  let rest = '';
  let read = 0;
  for await (const text of answer.setEncoding('utf8') as AsyncIterable<string>) {
    const end = text.lastIndexOf('\n') + 1;
    const whole = end > 0 ? rest + text.slice(0, end) : '';
    rest = end > 0 ? text.slice(end) : rest + text;
    if (rest.length > limits.lineBytes) return void answer.destroy();
    for (const line of whole.split('\n')) if (line !== '') deliverEvent(line, onEvent);
    // A pause of 250 ms after each MiB, so that a flood of events does not block the event loop.
    read += text.length;
    if (read < limits.throttle.bytes) continue;
    read = 0;
    await sleep(limits.throttle.ms, undefined, { signal, ref: false });
  }
}

/** Throws for anything but an event, and the watch starts again: a cluster's administrators may serve any path themselves. */
function deliverEvent(line: string, onEvent: OnEvent): void {
  const event = JSON.parse(line) as Parameters<OnEvent>[0];
  if (event.type === 'ERROR') throw new Error('the watch is refused');
  if (typeof event.object?.metadata?.name !== 'string') throw new Error('the watch tells of something without a name');
  onEvent(event);
}
