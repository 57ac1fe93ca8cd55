import type { IncomingMessage, ServerResponse } from 'node:http';
import { discard } from '../../../../kernel/http/discard.ts';
import { comeAgain } from '../../../../kernel/http/server.ts';

/** Answers with a Kubernetes Status. A body that its caller goes on sending is read slowly, and not for long. */
export function refuse(response: ServerResponse, code: number, reason: string, message: string): void {
  const body = JSON.stringify({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, reason, code });
  const retry = code === 429 || code === 503 ? { 'retry-after': '1' } : {};
  response.writeHead(code, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body), ...retry }).end(body);
  discard(response.req);
}

/** The server ends before the response is there. */
export const refuseAtEnd = (_request: IncomingMessage, response: ServerResponse): void =>
  refuse(response, 503, 'ServiceUnavailable', comeAgain);

/** Without a handler of its own, node answers and reads the body at full speed. */
export function refuseExpectation(_request: IncomingMessage, response: ServerResponse): void {
  response.shouldKeepAlive = false;
  refuse(response, 417, 'ExpectationFailed', 'the Expect header asks for what is not offered; only 100-continue is');
}
