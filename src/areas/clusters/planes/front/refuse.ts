import type { IncomingMessage, ServerResponse } from 'node:http';
import { discard } from '../../../../kernel/http/discard.ts';
import { comeAgain } from '../../../../kernel/http/server.ts';

/** Answers with a Kubernetes Status. */
export function refuse(response: ServerResponse, code: number, reason: string, message: string): void {
  const body = JSON.stringify({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, reason, code });
  const retry = code === 429 || code === 503 ? { 'retry-after': '1' } : {};
  response.writeHead(code, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body), ...retry }).end(body);
}

/** The server ends before the response is there. */
export function refuseAtEnd(request: IncomingMessage, response: ServerResponse): void {
  refuse(response, 503, 'ServiceUnavailable', comeAgain);
  discard(request);
}
