import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { isAccessSecret } from '../../clients/tenant/people.ts';

/** The people of a listener: the connections whose last request bore a token of a client configuration, by the Secret of that token. */
export interface People {
  note(request: IncomingMessage): void;
  forget(socket: Socket): void;
  secrets(): string[];
  /** Closes its connections. */
  cut(secret: string): void;
}

/**
 * Every request is noted, not only those that look like a watch or a terminal: Kubernetes reads a path and its parameters in more spellings than
 * we do. Most repeat the token of the request before them, which is not read again.
 */
export function makePeople(): People {
  const sockets = new Map<string, Set<Socket>>();
  const noted = new WeakMap<Socket, { authorization: string; protocols: string; secrets: readonly string[] }>();
  const forget = (socket: Socket) => {
    for (const secret of noted.get(socket)?.secrets ?? []) {
      sockets.get(secret)?.delete(socket);
      if (sockets.get(secret)?.size === 0) sockets.delete(secret);
    }
    noted.delete(socket);
  };
  return {
    note({ socket, headers: { authorization = '', 'sec-websocket-protocol': protocols = '' } }) {
      const last = noted.get(socket);
      if (last?.authorization === authorization && last.protocols === protocols) return;
      forget(socket);
      const secrets = tokensIn(authorization, protocols).flatMap((token) => accessSecretIn(token) ?? []);
      noted.set(socket, { authorization, protocols, secrets });
      for (const secret of secrets) sockets.set(secret, (sockets.get(secret) ?? new Set()).add(socket));
    },
    forget,
    secrets: () => [...sockets.keys()],
    cut(secret) {
      for (const socket of sockets.get(secret) ?? []) socket.destroy();
    },
  };
}

const protocolPrefix = 'base64url.bearer.authorization.k8s.io.';

/** As Kubernetes reads them: the word after `Bearer`, and among the protocols of a WebSocket at most one, for browsers. */
function tokensIn(authorization: string, protocols: string): string[] {
  const [scheme = '', bearer = ''] = authorization.split(' ', 2);
  const protocol = protocols
    .split(',')
    .map((each) => each.trim())
    .find((each) => each.startsWith(protocolPrefix));
  return [
    ...(scheme.toLowerCase() === 'bearer' ? [bearer] : []),
    ...(protocol ? [Buffer.from(protocol.slice(protocolPrefix.length), 'base64url').toString()] : []),
  ];
}

const maxTokenLength = 8_192;
const objectName = /^[a-z0-9-]{1,253}$/;

interface Claims {
  'kubernetes.io'?: { namespace?: unknown; secret?: { name?: unknown } | null } | null;
}

/** The Secret of a client configuration that a token claims to be bound to. It is not verified: a forged one closes its own connection alone. */
function accessSecretIn(token: string): string | undefined {
  if (token.length > maxTokenLength) return undefined;
  try {
    const claims: Claims | null = JSON.parse(Buffer.from(token.split('.', 2)[1] ?? '', 'base64url').toString());
    const { namespace, secret } = claims?.['kubernetes.io'] ?? {};
    const name = secret?.name;
    if (typeof namespace !== 'string' || typeof name !== 'string') return undefined;
    return isAccessSecret(namespace, name) && objectName.test(name) ? name : undefined;
  } catch {
    return undefined; // not one of Kubernetes' own tokens
  }
}
