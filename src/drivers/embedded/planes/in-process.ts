import { setTimeout } from 'node:timers/promises';
import { statusOf } from '../../status.ts';
import type { Call, Reply } from '../engine/call.ts';
import { internalCaller } from '../engine/caller.ts';
import type { Cluster } from '../engine/cluster.ts';
import { uncounted } from '../engine/unread-bytes.ts';
import { parseRequestInfo } from '../rules/request-info.ts';
import { type ServeContext, toApiError } from './serve.ts';

// Requests of Quarterdeck itself, without a socket: the same calls and answers as over HTTP, as a member of system:masters.

const patchType = 'application/merge-patch+json';

const internalCall = (method: string, path: string, body: unknown, signal: AbortSignal): Call => ({
  requestInfo: parseRequestInfo(method, path),
  caller: internalCaller,
  body,
  signal,
  unread: uncounted,
  contentType: method === 'PATCH' ? patchType : 'application/json',
  accept: '',
  representation: { as: 'object', rowObject: 'None' },
});

/** A PATCH is a merge patch, or a JSON patch if the body is a list. */
export async function answerInternally(
  serving: ServeContext,
  method: string,
  path: string,
  body: unknown,
): Promise<{ status: number; body: unknown }> {
  try {
    await serving.ready();
    const copy = body === undefined ? undefined : JSON.parse(JSON.stringify(body));
    const call = internalCall(method, path, copy, new AbortController().signal);
    if (Array.isArray(body)) call.contentType = 'application/json-patch+json';
    return await readReply(await serving.dispatch(call));
  } catch (error) {
    const status = statusOf(toApiError(serving.cluster, error));
    return { status: status.code, body: status };
  }
}

async function readReply(reply: Reply): Promise<{ status: number; body: unknown }> {
  if (!('chunks' in reply)) {
    const isJson = typeof reply.body === 'string' && reply.body.startsWith('{');
    return { status: reply.status, body: isJson ? JSON.parse(reply.body as string) : JSON.parse(JSON.stringify(reply.body)) };
  }
  let text = '';
  for await (const chunk of reply.chunks) text += chunk;
  return { status: 200, body: JSON.parse(text) };
}

const watchRetryMs = 1_000;

export async function watchWithRetry(
  serving: ServeContext,
  path: string,
  onEvent: (event: { type: string; object: unknown }) => void,
  signal: AbortSignal,
): Promise<void> {
  const watchPath = `${path}${path.includes('?') ? '&' : '?'}watch=1`;
  while (!signal.aborted) {
    try {
      await serving.ready();
      const reply = await serving.dispatch(internalCall('GET', watchPath, undefined, signal));
      if ('chunks' in reply) await deliverEvents(serving.cluster, reply.chunks, onEvent, signal);
    } catch (error) {
      serving.cluster.app.log.debug({ err: error, cluster: serving.cluster.id, path }, 'a watch ended; it is opened again');
    }
    await setTimeout(watchRetryMs, undefined, { signal, ref: false }).catch(() => {});
  }
}

async function deliverEvents(
  cluster: Cluster,
  chunks: AsyncIterable<string>,
  onEvent: (event: { type: string; object: unknown }) => void,
  signal: AbortSignal,
): Promise<void> {
  for await (const chunk of chunks)
    for (const line of chunk.split('\n')) {
      if (line === '' || signal.aborted) continue;
      const event = JSON.parse(line) as { type: string; object: unknown };
      if (event.type === 'ERROR') return;
      try {
        onEvent(event);
      } catch (error) {
        cluster.app.log.error({ err: error, cluster: cluster.id }, 'the handler of a watch on an embedded cluster failed');
      }
    }
}
