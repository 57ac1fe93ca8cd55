import type { ClientRequest, IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import { Agent, request } from 'node:https';
import { connect } from 'node:net';
import { createSecureContext } from 'node:tls';
import { guarded } from '../../../kernel/faults/guarded.ts';
import type { InnerKeys, Pair } from '../../keys.ts';

/** Idle connections are closed before the apiserver closes them after 90 s: a request that races with the close would fail. */
const idleTimeoutMs = 30_000;
const maxIdle = 32;

/** The client certificate of a connection to an apiserver: the front's, none, or the administrator's. */
export type Credential = 'front' | 'plain' | 'admin';

/** An apiserver, with its connection pools. */
export interface Target {
  port: number;
  agents: Record<Credential, Agent>;
  close(): void;
}

export function makeTarget(port: number, { authority, front, admin }: InnerKeys): Target {
  const common = { keepAlive: true, timeout: idleTimeoutMs, maxFreeSockets: maxIdle, ALPNProtocols: ['http/1.1'] };
  // Keys and certificates are parsed once, not for every connection.
  const makeAgent = (clientCertificate?: Pair) => {
    const own = clientCertificate ? { cert: clientCertificate.certificate, key: clientCertificate.key } : {};
    return new Agent({ ...common, secureContext: createSecureContext({ ca: authority.certificate, ...own }) });
  };
  const agents = { front: makeAgent(front), plain: makeAgent(), admin: makeAgent(admin) };
  return {
    port,
    agents,
    close: () => {
      for (const agent of Object.values(agents)) agent.destroy();
    },
  };
}

export interface ApiserverRequest {
  method: string;
  path: string;
  headers: OutgoingHttpHeaders | string[];
  credential: Credential;
  signal?: AbortSignal;
}

/** A request to an apiserver; nothing of it is sent before the caller writes or ends. */
export const dialServer = ({ port, agents }: Target, { credential, ...asked }: ApiserverRequest): ClientRequest =>
  request({ host: '127.0.0.1', port, agent: agents[credential], ...asked });

/** For a process that does not serve the cluster and calls its endpoint, with Quarterdeck's internal certificate. */
export function makeEndpointAgent({ admin }: InnerKeys, ca: string): Agent {
  return new Agent({ keepAlive: true, timeout: idleTimeoutMs, maxFreeSockets: 2, ca, cert: admin.certificate, key: admin.key });
}

export const dialEndpoint = (endpoint: string, agent: Agent, { credential: _, ...asked }: ApiserverRequest): ClientRequest => {
  const { hostname, port } = new URL(endpoint);
  return request({ host: hostname.replace(/^\[|\]$/g, ''), port, agent, ...asked });
};

/** Waits for the head of a response. */
export const responseHead = (asked: ClientRequest): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    asked.once('response', resolve);
    asked.once('error', reject);
  });

/** Whether a program listens on a unix socket. */
export const isListening = (path: string): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(path);
    const tell = (isThere: boolean) => {
      socket.destroy();
      resolve(isThere);
    };
    socket.once(
      'connect',
      guarded('clusters.process.dial.connect', socket, () => tell(true)),
    );
    socket.once(
      'error',
      guarded('clusters.process.dial.error', socket, () => tell(false)),
    );
    socket.setTimeout(
      2_000,
      guarded('clusters.process.dial.timeout', socket, () => tell(false)),
    );
  });
