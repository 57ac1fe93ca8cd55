import type { Socket } from 'node:net';
import type { SecureContext, TLSSocket } from 'node:tls';
import { type Address, readAddress } from './address.ts';
import type { ConnectionPool } from './connection-pool.ts';
import type { Connector } from './connector.ts';
import { deadline } from './deadline.ts';
import { failureOf, GuardFailure, GuardRefusal, type Phase } from './errors.ts';
import type { Host } from './host.ts';
import { type AddressPolicy, allowedAddress, resolveAllowed } from './resolve-allowed.ts';
import { secure, type TlsOptions } from './secure.ts';
import type { Connection, Phases } from './types.ts';

export interface DialOptions {
  readonly signal?: AbortSignal;
  /** For DNS, TCP and TLS together. */
  readonly connectMs?: number;
  readonly onPhase?: (phase: Phase, ms: number) => void;
}

export interface Dialer extends AddressPolicy {
  readonly connector: Connector;
  readonly sharedContext: () => SecureContext;
  readonly pool: ConnectionPool;
}

const timeouts: Record<'resolve' | 'connect' | 'tls', [kind: 'dns_timeout' | 'connect_timeout' | 'timeout', sentence: string]> = {
  resolve: ['dns_timeout', 'could not be looked up in time'],
  connect: ['connect_timeout', 'did not accept a connection in time'],
  tls: ['timeout', 'did not complete a TLS handshake in time'],
};

/** TCP to a checked address, and TLS on top if `tls` is given. */
export async function dial(
  dialer: Dialer,
  use: string,
  host: Host,
  port: number,
  options: DialOptions,
  tls: TlsOptions | undefined,
): Promise<Connection> {
  if (host.literal && tls === undefined) return dialAddress(dialer, use, host, port, options);
  const phases: Phases = {};
  let phase: keyof typeof timeouts = 'resolve';
  const deadlineAt = performance.now() + (options.connectMs ?? 10_000);
  const { signal, stop } = deadline(
    options.connectMs ?? 10_000,
    () => new GuardFailure(timeouts[phase][0], phase, `${host.name} ${timeouts[phase][1]}`),
    options.signal,
  );
  const timed = async <T>(name: keyof typeof timeouts, work: () => Promise<T>): Promise<T> => {
    phase = name;
    const started = performance.now();
    const result = await work();
    const took = performance.now() - started;
    phases[name] = took;
    options.onPhase?.(name, took);
    return result;
  };

  try {
    const pinned = await timed('resolve', () => resolveAllowed(dialer, use, host, signal));
    const { socket, address } = await timed('connect', () => connectFirst(dialer, host, pinned, port, deadlineAt, signal));
    // From here on a reset can arrive at any moment, also between two owners of the socket.
    socket.on('error', () => {});
    const secured =
      tls === undefined ? { socket, certificate: null } : await timed('tls', () => secure(socket, host, tls, dialer.sharedContext, signal));
    return { ...secured, address: address.text, family: address.family, phases };
  } finally {
    stop();
  }
}

/** An address is dialed without the steps of a name: a load balancer does it thousands of times a second. */
async function dialAddress(dialer: Dialer, use: string, host: Host, port: number, options: DialOptions): Promise<Connection> {
  const address = allowedAddress(dialer, use, host, host.name);
  options.onPhase?.('resolve', 0);
  const started = performance.now();
  const late = () => new GuardFailure(timeouts.connect[0], 'connect', `${host.name} ${timeouts.connect[1]}`);
  const { signal, stop } = deadline(options.connectMs ?? 10_000, late, options.signal);
  try {
    const socket = await dialer.connector({ address: address.text, family: address.family, port }, signal);
    sameAddress(socket, host, address).on('error', () => {});
    const took = performance.now() - started;
    options.onPhase?.('connect', took);
    return { socket, certificate: null, address: address.text, family: address.family, phases: { resolve: 0, connect: took } };
  } catch (error) {
    throw signal.aborted || error instanceof GuardRefusal ? error : failureOf(error, host.name, 'connect');
  } finally {
    stop();
  }
}

/**
 * Starts TLS on a connection that was checked when it was opened and is in the clear until now. The caller has stopped reading and owns
 * only the new socket from now on. If this fails, both are closed.
 */
export async function upgrade(
  dialer: Dialer,
  open: Connection,
  host: Host,
  options: DialOptions,
  tls: TlsOptions,
): Promise<Connection<TLSSocket>> {
  const started = performance.now();
  const late = () => new GuardFailure(timeouts.tls[0], 'tls', `${host.name} ${timeouts.tls[1]}`);
  const { signal, stop } = deadline(options.connectMs ?? 10_000, late, options.signal);
  try {
    const secured = await secure(open.socket, host, tls, dialer.sharedContext, signal);
    const took = performance.now() - started;
    options.onPhase?.('tls', took);
    return { ...secured, address: open.address, family: open.family, phases: { ...open.phases, tls: took } };
  } finally {
    stop();
  }
}

/** Tries each address in order. Only the last attempt may use up the remaining time. A real failure counts more than "no route". */
async function connectFirst(dialer: Dialer, host: Host, pinned: Address[], port: number, until: number, signal: AbortSignal) {
  let failure: unknown;
  for (const [at, address] of pinned.entries()) {
    const isLast = at === pinned.length - 1;
    const late = () => new GuardFailure(timeouts.connect[0], 'connect', `${host.name} ${timeouts.connect[1]}`);
    const share = Math.min(2000, (until - performance.now()) / (pinned.length - at));
    const attempt = isLast ? { signal, stop: () => {} } : deadline(share, late, signal);
    try {
      const socket = await dialer.connector({ address: address.text, family: address.family, port }, attempt.signal);
      return { socket: sameAddress(socket, host, address), address };
    } catch (error) {
      if (signal.aborted || error instanceof GuardRefusal) throw error;
      const next = failureOf(error, host.name, 'connect');
      if (!(next instanceof GuardFailure)) throw next;
      if (failure === undefined || (failure as GuardFailure).kind === 'network_unreachable') failure = next;
    } finally {
      attempt.stop();
    }
  }
  throw failure;
}

/** The connected address is compared with the checked one, so that nothing between the decision and the socket needs to be trusted. */
function sameAddress(socket: Socket, host: Host, address: Address): Socket {
  if (socket.remoteAddress !== undefined && readAddress(socket.remoteAddress)?.text === address.text) return socket;
  const wasThere = socket.remoteAddress !== undefined;
  socket.on('error', () => {}).destroy();
  if (!wasThere) throw new GuardFailure('connection_reset', 'connect', `${host.name} closed the connection before the end`);
  throw new GuardRefusal('address', `the connection to ${host.name} ended at an address that was not checked; it was closed`);
}
