import type { IncomingMessage, ServerResponse } from 'node:http';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { DatabaseSlow, DatabaseUnavailable } from '../../../../kernel/db/index.ts';
import { Refusal } from '../../../../kernel/errors.ts';
import { runFor } from '../../../../kernel/fairness/index.ts';
import type { Plane, PlaneHandler } from '../../../../kernel/http/plane.ts';
import { paths } from '../../../../protocols/agent.ts';
import { type AgentContext, answerAssignments, answerResults, answerSession, type Call } from './answers.ts';
import type { Identify } from './identify.ts';

interface Route {
  method: string;
  answer: (desk: AgentContext, call: Call) => Promise<unknown>;
}

const routes: Record<string, Route> = {
  [paths.session]: { method: 'POST', answer: answerSession },
  [paths.assignments]: { method: 'GET', answer: answerAssignments },
  [paths.results]: { method: 'POST', answer: answerResults },
};

/** The HTTP API of probers, remote and local. `makeIdentify` is called once, when the plane opens. */
export const agentsPlane = (desk: AgentContext, role: Plane['role'], makeIdentify: () => Identify): Plane => ({
  name: 'agents',
  role,
  owns: ({ url }) => url?.startsWith('/agent/') ?? false,
  open: () => handleWith(desk, makeIdentify()),
  refuse: refuseCall,
});

const handleWith =
  (desk: AgentContext, identify: Identify): PlaneHandler =>
  async (request, response) => {
    const [path = '', query = ''] = (request.url ?? '').split('?', 2);
    const by = await identify(request);
    const route = Object.hasOwn(routes, path) ? routes[path] : undefined;
    if (!route) throw new Refusal(404, 'no_such_operation', `there is no ${path}; agents use ${Object.values(paths).join(', ')}`);
    if (request.method !== route.method)
      throw new Refusal(405, 'method_not_allowed', `${path} is asked with ${route.method}`, { headers: { allow: route.method } });
    const call: Call = { request, response, by, identify, query: new URLSearchParams(query) };
    const body = await runFor({ org: 'probers', operation: path, isSystem: true }, () => route.answer(desk, call), desk.app.watch);
    await sendAnswer(response, body);
  };

const pack = promisify(gzip);
/** Below it, packing costs more than sending. */
const packedBytes = 16_384;

async function sendAnswer(response: ServerResponse, body: unknown) {
  const plain = Buffer.from(JSON.stringify(body));
  const packed = plain.length > packedBytes && /\bgzip\b/.test(String(response.req.headers['accept-encoding'] ?? ''));
  send(response, 200, packed ? await pack(plain) : plain, packed ? { 'content-encoding': 'gzip' } : {});
}

function refuseCall(_request: IncomingMessage, response: ServerResponse, error: unknown) {
  const refusal = asRefusal(error);
  const body = Buffer.from(JSON.stringify({ error: refusal.message }));
  send(response, refusal.status, body, { ...refusal.headers, 'x-error-code': refusal.code });
}

const asRefusal = (error: unknown): Refusal =>
  error instanceof Refusal
    ? error
    : error instanceof DatabaseUnavailable
      ? new Refusal(
          503,
          'unavailable',
          `${error instanceof DatabaseSlow ? error.message : 'the database is away'}; keep the results and try again in a moment`,
          {
            headers: { 'retry-after': '2' },
          },
        )
      : new Refusal(503, 'internal', 'something went wrong on our side; keep the results and try again');

function send(response: ServerResponse, status: number, bytes: Buffer, headers: Record<string, string>) {
  if (response.headersSent || response.destroyed) return;
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': bytes.length,
    'cache-control': 'no-store',
    ...headers,
  });
  response.end(bytes);
}
