import type { Socket } from 'node:net';
import { isIP } from 'node:net';
import type { SecureContext, TLSSocket } from 'node:tls';
import { type Connection, type Guard, GuardFailure } from '../../../../kernel/guard/index.ts';
import { authenticate, type Credentials } from './authenticate.ts';
import { Conversation, type Timeouts } from './conversation.ts';
import { SmtpFailure } from './failure.ts';
import { printReply, type Reply } from './replies.ts';
import { type Offers, readOffers, Session } from './session.ts';

/** How a host must be spoken to. */
export interface TlsPlan {
  /** `never`: in the clear. `offered`: if the host can. `required`: or not at all. `implicit`: from the first byte. */
  when: 'never' | 'offered' | 'required' | 'implicit';
  /** The certificate must be for the host's name, of an authority that we trust. */
  verify: boolean;
  /** An opinion of its own on the certificate (DANE). */
  refuse?: (socket: TLSSocket) => string | null;
  /** Instead of the public authorities. */
  context?: SecureContext;
}

export interface Opening {
  guard: Guard;
  use: string;
  host: string;
  port: number;
  /** Who we say we are. */
  hostname: string;
  tls: TlsPlan;
  credentials?: Credentials;
  timeouts: Timeouts;
  signal: AbortSignal;
}

/** A session that is ready for messages. Throws SmtpFailure, or GuardRefusal where the guard will never connect. */
export async function openSession(opening: Opening): Promise<Session> {
  const { host, timeouts, tls } = opening;
  let connection = await reach(opening);
  const conversation = new Conversation(host, connection.socket, timeouts);
  const abort = () => void conversation.fail('closed', 'this server stops');
  opening.signal.addEventListener('abort', abort, { once: true });
  try {
    require2xx('greeting', await conversation.reply('greeting'), host);
    let offers = await greet(conversation, opening.hostname);
    if (tls.when === 'required' && !offers.startTls) {
      throw new SmtpFailure('starttls', 'tls', `${host} must be spoken to under TLS and does not offer it`);
    }
    if (offers.startTls && (tls.when === 'required' || tls.when === 'offered')) {
      connection = await upgrade(opening, connection, conversation);
      offers = await greet(conversation, opening.hostname);
    }
    if (opening.credentials !== undefined) await authenticate(conversation, opening.credentials, offers);
    return new Session(conversation, offers, { host, address: connection.address, tls: describeTls(connection.socket) });
  } catch (error) {
    conversation.fail('closed', 'the session was not opened');
    throw error;
  } finally {
    opening.signal.removeEventListener('abort', abort);
  }
}

const tlsOptions = ({ verify, refuse, context }: TlsPlan) => ({
  rejectUnauthorized: verify,
  ...(refuse === undefined ? {} : { refuse }),
  ...(context === undefined ? {} : { context }),
});

async function reach({ guard, use, host, port, tls, timeouts, signal }: Opening): Promise<Connection> {
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

/** EHLO; HELO for those who do not know it (RFC 5321 3.2). */
async function greet(conversation: Conversation, hostname: string): Promise<Offers> {
  const name = isIP(hostname) === 0 ? hostname : `[${isIP(hostname) === 6 ? 'IPv6:' : ''}${hostname}]`;
  conversation.write(`EHLO ${name}\r\n`);
  const extended = await conversation.reply('ehlo');
  if (extended.code < 300) return readOffers(extended);
  if (extended.code < 500 || conversation.isOver) throw refusal('ehlo', extended, conversation.host);
  conversation.write(`HELO ${name}\r\n`);
  require2xx('ehlo', await conversation.reply('ehlo'), conversation.host);
  return readOffers(undefined);
}

async function upgrade(opening: Opening, connection: Connection, conversation: Conversation): Promise<Connection<TLSSocket>> {
  const { guard, host, tls, timeouts, signal } = opening;
  conversation.write('STARTTLS\r\n');
  const reply = await conversation.reply('starttls');
  // An offer that is taken back is a failed handshake: whoever may speak in the clear tries again without it.
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
