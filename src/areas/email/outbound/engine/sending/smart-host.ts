import { isIP } from 'node:net';
import { exitCodes, Stop } from '../../../../../kernel/errors.ts';
import type { Guard } from '../../../../../kernel/guard/index.ts';
import type { Credentials } from '../../clients/smtp/authenticate.ts';
import { openSession, type TlsPlan } from '../../clients/smtp/open-session.ts';
import type { Session } from '../../clients/smtp/session.ts';
import type { ConnectOptions } from './open-site.ts';

/** The operator's own server, which relays all outgoing mail. */
export interface SmartHost {
  /** Without its password, for the log. */
  name: string;
  host: string;
  port: number;
  tls: TlsPlan;
  credentials?: Credentials;
}

const failConfiguration = (sentence: string): never => {
  throw new Stop(exitCodes.configuration, `QUARTERDECK_EMAIL_SMARTHOST: ${sentence}`);
};

/** `smtp://user:password@host:port` (STARTTLS where it is offered), or `smtps://` (TLS from the first byte). */
export function readSmartHost(text: string): SmartHost {
  const url = URL.canParse(text)
    ? new URL(text)
    : failConfiguration('it cannot be read; write it like smtp://user:password@mail.example.org:587');
  if (url.protocol !== 'smtp:' && url.protocol !== 'smtps:') failConfiguration('it must begin with smtp:// or smtps://');
  const host = url.hostname.replace(/^\[|\]$/g, '') || failConfiguration('it names no host');
  const isImplicit = url.protocol === 'smtps:';
  const port = Number(url.port || (isImplicit ? 465 : 587));
  // A host given by address, or localhost, has no certificate for that name; the password stays on the operator's network.
  const verify = isIP(host) === 0 && host !== 'localhost';
  const credentials = url.username && { user: decodeURIComponent(url.username), password: decodeURIComponent(url.password) };
  return {
    name: `${url.protocol}//${url.host}`,
    host,
    port,
    tls: { when: isImplicit ? 'implicit' : 'offered', verify },
    ...(credentials ? { credentials } : {}),
  };
}

/** Never falls back to the clear after a failed handshake: the password would follow. */
export const openSmartHost =
  (options: ConnectOptions, { host, port, tls, credentials }: SmartHost, guard: Guard) =>
  (signal: AbortSignal): Promise<Session> =>
    openSession({
      guard,
      use: 'smarthost',
      host,
      port,
      hostname: options.hostname,
      timeouts: options.timeouts,
      signal,
      tls: { ...(options.context === undefined ? {} : { context: options.context }), ...tls },
      ...(credentials === undefined ? {} : { credentials }),
    });
