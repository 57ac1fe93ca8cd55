import type { Socket } from 'node:net';
import { isIP } from 'node:net';
import type { SecureContext, TLSSocket } from 'node:tls';
import { type Connection, type Guard, GuardFailure } from '../../../../../kernel/guard/index.ts';
import { authenticate, type Credentials } from './authenticate.ts';
import { SmtpConnection, type Timeouts } from './connection.ts';
import { SmtpFailure } from './failure.ts';
import { printReply, type Reply } from './replies.ts';
import { readExtensions, type ServerExtensions, Session } from './session.ts';

/** TLS policy for one host. */
export interface TlsPlan {
  /** `never`: plain text. `offered`: if the host extensions it. `required`: fail without it. `implicit`: from the first byte. */
  when: 'never' | 'offered' | 'required' | 'implicit';
  /** The certificate must match the host name and come from a trusted authority. */
  verify: boolean;
  /** Additional certificate check (DANE); returns the reason of a refusal. */
  refuse?: (socket: TLSSocket) => string | null;
  /** Replaces the public authorities. */
  context?: SecureContext;
}

export interface SessionOptions {
  guard: Guard;
  use: string;
  host: string;
  port: number;
  /** Our name in EHLO. */
  hostname: string;
  tls: TlsPlan;
  credentials?: Credentials;
  timeouts: Timeouts;
  signal: AbortSignal;
}

/** Opens a session that is ready for messages. Throws SmtpFailure, or GuardRefusal for an address that the guard forbids. */
export async function openSession(options: SessionOptions): Promise<Session> {
  const { host, timeouts, tls } = options;
  let connection = await reach(options);
  const conversation = new SmtpConnection(host, connection.socket, timeouts);
  const abort = () => void conversation.fail('closed', 'this server stops');
  options.signal.addEventListener('abort', abort, { once: true });
  try {
    require2xx('greeting', await conversation.reply('greeting'), host);
    let extensions = await greet(conversation, options.hostname);
    if (tls.when === 'required' && !extensions.startTls) {
      throw new SmtpFailure('starttls', 'tls', `${host} must be spoken to under TLS and does not offer it`);
    }
    if (extensions.startTls && (tls.when === 'required' || tls.when === 'offered')) {
      connection = await upgrade(options, connection, conversation);
      extensions = await greet(conversation, options.hostname);
    }
    if (options.credentials !== undefined) await authenticate(conversation, options.credentials, extensions);
    return new Session(conversation, extensions, { host, address: connection.address, tls: describeTls(connection.socket) });
  } catch (error) {
    conversation.fail('closed', 'the session was not opened');
    throw error;
  } finally {
    options.signal.removeEventListener('abort', abort);
  }
}

const tlsOptions = ({ verify, refuse, context }: TlsPlan) => ({
  rejectUnauthorized: verify,
  ...(refuse === undefined ? {} : { refuse }),
  ...(context === undefined ? {} : { context }),
});

async function reach({ guard, use, host, port, tls, timeouts, signal }: SessionOptions): Promise<Connection> {
  const dialing = { connectMs: timeouts.connect, signal };
  try {
    if (tls.when === 'implicit') return await guard.connectTls(use, host, port, { ...dialing, tls: tlsOptions(tls) });
    return await guard.connectTcp(use, host, port, dialing);
  } catch (error) {
    if (error instanceof GuardFailure)
      throw new SmtpFailure('connect', error.phase === 'tls' ? 'tls' : 'unreached', error.message, { cause: error });
    if (signal.aborted) throw new SmtpFailure('connect', 'closed', 'this server stops');
    throw error;
  }
}

/** EHLO, or HELO for servers without it (RFC 5321 3.2). */
async function greet(conversation: SmtpConnection, hostname: string): Promise<ServerExtensions> {
  const name = isIP(hostname) === 0 ? hostname : `[${isIP(hostname) === 6 ? 'IPv6:' : ''}${hostname}]`;
  conversation.write(`EHLO ${name}\r\n`);
  const extended = await conversation.reply('ehlo');
  if (extended.code < 300) return readExtensions(extended);
  if (extended.code < 500 || conversation.isClosed) throw refusal('ehlo', extended, conversation.host);
  conversation.write(`HELO ${name}\r\n`);
  require2xx('ehlo', await conversation.reply('ehlo'), conversation.host);
  return readExtensions(undefined);
}

async function upgrade(options: SessionOptions, connection: Connection, conversation: SmtpConnection): Promise<Connection<TLSSocket>> {
  const { guard, host, tls, timeouts, signal } = options;
  conversation.write('STARTTLS\r\n');
  const reply = await conversation.reply('starttls');
  // A withdrawn STARTTLS offer counts as a failed handshake, so a caller whose policy allows plain text retries without TLS.
  if (reply.code >= 300) throw new SmtpFailure('starttls', 'tls', `${host} offers TLS and refuses it: ${printReply(reply)}`, { reply });
  conversation.pauseForTls();
  try {
    const secured = await guard.startTls(connection, host, { connectMs: timeouts.connect, signal, tls: tlsOptions(tls) });
    conversation.continueOn(secured.socket);
    return secured;
  } catch (error) {
    if (!(error instanceof GuardFailure)) throw error;
    throw new SmtpFailure('starttls', 'tls', error.message, { cause: error });
  }
}

function describeTls(socket: Socket): string | undefined {
  if (!('encrypted' in socket)) return undefined;
  const secure = socket as TLSSocket;
  return `${secure.getProtocol()} ${secure.getCipher().standardName} ${secure.authorized ? 'verified' : 'unverified'}`;
}

const refusal = (stage: 'greeting' | 'ehlo', reply: Reply, host: string) =>
  new SmtpFailure(stage, 'reply', `${host} does not take mail from us: ${printReply(reply)}`, { reply });

function require2xx(stage: 'greeting' | 'ehlo', reply: Reply, host: string): void {
  if (reply.code >= 300) throw refusal(stage, reply, host);
}
