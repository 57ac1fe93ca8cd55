import type { Socket } from 'node:net';
import {
  checkServerIdentity,
  connect,
  createSecureContext,
  type DetailedPeerCertificate,
  type PeerCertificate,
  type SecureContext,
  type TLSSocket,
} from 'node:tls';
import { guarded } from '../faults/guarded.ts';
import { GuardFailure, tlsFailure } from './errors.ts';
import type { Host } from './host.ts';

export interface TlsOptions {
  /** Trusted instead of the public authorities. For many connections build `context` once: it costs a third of a millisecond. */
  readonly ca?: string | readonly string[];
  readonly context?: SecureContext;
  /** False only where the protocol itself accepts any certificate (opportunistic SMTP). */
  readonly rejectUnauthorized?: boolean;
  readonly alpn?: readonly string[];
  /** The caller's own check after the handshake: a returned sentence refuses the connection. For rules that Node does not know (DANE). */
  readonly refuse?: (socket: TLSSocket) => string | null;
}

/** The system's authorities, read once for all connections of a guard, on first use. */
export function sharedContext(): () => SecureContext {
  let context: SecureContext | undefined;
  return () => {
    context ??= createSecureContext();
    return context;
  };
}

function contextOf({ ca, context }: TlsOptions, shared: () => SecureContext): SecureContext {
  if (context !== undefined) return context;
  if (ca !== undefined) return createSecureContext({ ca: typeof ca === 'string' ? ca : [...ca] });
  return shared();
}

export interface Secured {
  readonly socket: TLSSocket;
  /** With its issuers, as Node parsed it to check the name: parsing it again costs a tenth of a check. Null when nothing was checked. */
  readonly certificate: DetailedPeerCertificate | null;
}

/** The caller's check parses a remote certificate. An unreadable one is refused, and never ends the process from inside an event. */
function customRefusal({ refuse }: TlsOptions, tls: TLSSocket): string | null {
  try {
    return refuse?.(tls) ?? null;
  } catch {
    return 'what was shown in the TLS handshake cannot be read';
  }
}

/** TLS on an open connection. The certificate is checked against the requested name, never against the resolved address. */
export function secure(
  socket: Socket,
  host: Host,
  options: TlsOptions,
  shared: () => SecureContext,
  signal: AbortSignal,
): Promise<Secured> {
  return new Promise((resolve, reject) => {
    let seenCertificate: PeerCertificate | null = null;
    const tls = connect({
      socket,
      host: host.name,
      // RFC 6066 3: server_name carries names only.
      ...(host.literal === null ? { servername: host.name } : {}),
      secureContext: contextOf(options, shared),
      rejectUnauthorized: options.rejectUnauthorized ?? true,
      checkServerIdentity: (_name, certificate) => {
        seenCertificate = certificate;
        return checkServerIdentity(host.name, certificate);
      },
      ...(options.alpn === undefined ? {} : { ALPNProtocols: [...options.alpn] }),
    });
    const abort = () => end(signal.reason);
    const settle = () => {
      signal.removeEventListener('abort', abort);
      tls.off('secureConnect', secured).off('error', failed).off('close', closed);
      tls.on('error', () => {});
    };
    const end = (error: unknown) => {
      settle();
      tls.destroy();
      socket.destroy();
      reject(error);
    };
    const secured = guarded('guard.secure.secured', tls, () => {
      const refused = customRefusal(options, tls);
      if (refused !== null) return end(new GuardFailure('tls_certificate', 'tls', refused));
      settle();
      resolve({ socket: tls, certificate: seenCertificate as DetailedPeerCertificate | null });
    });
    // Node sets its verdict on the certificate before it fails because of it (@types/node says Error; it is the code).
    const failed = guarded('guard.secure.failed', tls, (error: Error) =>
      end(tlsFailure(error, host.name, (tls.authorizationError as unknown as string | null) ?? null)),
    );
    const closed = guarded('guard.secure.closed', tls, () =>
      end(tlsFailure(Object.assign(new Error('closed during the handshake'), { code: 'ECONNRESET' }), host.name, null)),
    );
    tls.on('secureConnect', secured).on('error', failed).on('close', closed);
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
  });
}
