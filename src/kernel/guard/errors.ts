import { Refusal } from '../errors.ts';
import type { AddressClass } from './address.ts';
import { setting } from './allow.ts';

export type Phase = 'resolve' | 'connect' | 'tls' | 'firstByte' | 'transfer';

/** `outside`: a public address, where `only=` closes the public internet. */
export type RefusedClass = AddressClass | 'unreadable' | 'outside';

export type RefusalKind = 'address' | 'host' | 'url' | 'port' | 'redirect' | 'request';

/**
 * The guard refuses it, now and on a retry. The sentence names no address that the caller did not write: answers of an internal resolver
 * are not for outsiders.
 */
export class GuardRefusal extends Refusal {
  readonly kind: RefusalKind;
  readonly class: RefusedClass | null;

  constructor(kind: RefusalKind, sentence: string, options: { class?: RefusedClass; cause?: unknown } = {}) {
    super(400, 'blocked_target', sentence, { cause: options.cause });
    this.name = 'GuardRefusal';
    this.kind = kind;
    this.class = options.class ?? null;
  }
}

export type FailureKind =
  | 'dns_not_found'
  | 'dns_failure'
  | 'dns_timeout'
  | 'connection_refused'
  | 'connection_reset'
  | 'connect_timeout'
  | 'network_unreachable'
  | 'tls_handshake'
  | 'tls_certificate'
  | 'timeout'
  | 'too_large'
  | 'too_many_redirects'
  | 'protocol';

/** The remote server, or the network, failed. It may work later. */
export class GuardFailure extends Refusal {
  readonly kind: FailureKind;
  readonly phase: Phase;

  constructor(kind: FailureKind, phase: Phase, sentence: string, options: { cause?: unknown } = {}) {
    super(502, 'unreachable', sentence, options);
    this.name = 'GuardFailure';
    this.kind = kind;
    this.phase = phase;
  }
}

/** Classes that no setting opens are not advertised as something that the operator could open. */
export function blockedAddress(use: string, host: string, isLiteral: boolean, found: RefusedClass): GuardRefusal {
  if (found === 'outside') {
    const target = isLiteral ? `${host} is outside` : `${host} resolves to an address outside`;
    return new GuardRefusal('address', `${target} the networks that this server may reach; ${setting} with only= closes the rest`, {
      class: found,
    });
  }
  const target = isLiteral ? `${host} is not a public address (${found})` : `${host} resolves to an address that is not public (${found})`;
  const canBeOpened = found !== 'unspecified' && found !== 'multicast' && found !== 'broadcast' && found !== 'unreadable';
  const advice = canBeOpened
    ? `use a public one, or have the operator add its network to ${setting} (use ${use})`
    : `use a public one; no value of ${setting} opens it`;
  return new GuardRefusal('address', `${target}; ${advice}`, { class: found });
}

const codeOf = (error: unknown): string => {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' ? code : '';
};

const byCode: Record<string, [FailureKind, string]> = {
  ECONNREFUSED: ['connection_refused', 'refused the connection'],
  ECONNRESET: ['connection_reset', 'closed the connection before the end'],
  ECONNABORTED: ['connection_reset', 'closed the connection before the end'],
  EPIPE: ['connection_reset', 'closed the connection before the end'],
  ERR_STREAM_PREMATURE_CLOSE: ['connection_reset', 'closed the connection before the end'],
  ETIMEDOUT: ['connect_timeout', 'did not answer in time'],
  ENETUNREACH: ['network_unreachable', 'cannot be reached from this network'],
  EHOSTUNREACH: ['network_unreachable', 'cannot be reached from this network'],
  ENETDOWN: ['network_unreachable', 'cannot be reached from this network'],
  EHOSTDOWN: ['network_unreachable', 'cannot be reached from this network'],
  EADDRNOTAVAIL: ['network_unreachable', 'cannot be reached from this network'],
  EACCES: ['network_unreachable', 'is kept unreachable by a firewall of this machine'],
  EPERM: ['network_unreachable', 'is kept unreachable by a firewall of this machine'],
  HPE_HEADER_OVERFLOW: ['too_large', 'answered with more header bytes than are read'],
};

/**
 * Converts a system error. Errors that the peer did not cause (EMFILE, ENOMEM, a bug) stay as they are: they must not look like an outage
 * of the target.
 */
export function failureOf(error: unknown, host: string, phase: Phase): unknown {
  if (error instanceof Refusal) return error;
  const code = codeOf(error);
  const known = byCode[code];
  if (known !== undefined) return new GuardFailure(known[0], phase, `${host} ${known[1]}`, { cause: error });
  if (code.startsWith('HPE_')) return new GuardFailure('protocol', phase, `${host} does not speak HTTP/1.1 there`, { cause: error });
  // Not only during the handshake: with TLS 1.3 a server that requires a client certificate refuses after the handshake looks complete.
  if (/^(ERR_SSL|ERR_TLS|EPROTO|ERR_OSSL)/.test(code)) {
    return new GuardFailure('tls_handshake', phase, `${host} does not complete a TLS handshake`, { cause: error });
  }
  return error;
}

export function tlsFailure(error: unknown, host: string, verdict: string | null): unknown {
  if (verdict !== null) return new GuardFailure('tls_certificate', 'tls', certificateSentence(host, verdict), { cause: error });
  return failureOf(error, host, 'tls');
}

function certificateSentence(host: string, verdict: string): string {
  if (verdict === 'ERR_TLS_CERT_ALTNAME_INVALID') return `the certificate of ${host} is for another name`;
  if (verdict === 'CERT_HAS_EXPIRED') return `the certificate of ${host} has expired`;
  if (verdict === 'CERT_NOT_YET_VALID') return `the certificate of ${host} is not valid yet`;
  return `the certificate of ${host} is not trusted (${verdict})`;
}

const dnsKinds: Record<string, [FailureKind, string]> = {
  ENOTFOUND: ['dns_not_found', 'has no address in the DNS'],
  ENODATA: ['dns_not_found', 'has no address in the DNS'],
  EBADNAME: ['dns_not_found', 'has no address in the DNS'],
  ETIMEOUT: ['dns_timeout', 'could not be looked up in time'],
};

export function dnsFailure(error: unknown, host: string): GuardFailure {
  const [kind, sentence] = dnsKinds[codeOf(error)] ?? ['dns_failure', 'could not be looked up: the name servers failed'];
  return new GuardFailure(kind, 'resolve', `${host} ${sentence}`, { cause: error });
}
