import { Refusal } from '../../../../../kernel/errors.ts';
import { runFor, type WorkContext } from '../../../../../kernel/fairness/index.ts';
import {
  type Credentials,
  type Message,
  type MessageLimits,
  type PathArgument,
  Reply,
  replyFor,
  type Session,
  type SessionHandler,
} from '../../../../../kernel/smtp/index.ts';
import { InvalidAddress, readAddress } from '../../../rules/address.ts';
import { foldAddress } from '../../../rules/envelope.ts';
import { limits } from '../../../rules/limits.ts';
import type { Login, Logins } from './logins.ts';
import { maxInMemoryBytes, receiveMessage, type SubmissionContext } from './receive.ts';

const timeouts = {
  /** From connect to a successful login. */
  loginMs: 60_000,
  /** From DATA to the final dot. */
  messageMs: 10 * 60_000,
};
const maxWrongLogins = 3;

export const openSubmissionSession =
  (receiving: SubmissionContext, logins: Logins) =>
  (session: Session): SessionHandler =>
    new SubmissionSession(receiving, logins, session);

/** Handles one submission connection: login, envelope, message. */
class SubmissionSession implements SessionHandler {
  readonly #receiving: SubmissionContext;
  readonly #logins: Logins;
  readonly #session: Session;
  #login: Login | undefined;
  /** The organization that pays for the work of this connection; undefined before login. */
  #context: WorkContext | undefined;
  #wrongLogins = 0;
  #loginTimer: NodeJS.Timeout | undefined;
  /** Recipients by folded address, so each appears once. */
  readonly #envelope = new Map<string, string>();

  constructor(receiving: SubmissionContext, logins: Logins, session: Session) {
    this.#receiving = receiving;
    this.#logins = logins;
    this.#session = session;
  }

  begin(): void {
    this.#loginTimer = this.#session.closeAfter(timeouts.loginMs, 'nobody logged in; come again');
  }

  async logIn(given: Credentials): Promise<void> {
    this.#login?.logOut(); // first: a later log-out would also end the new login of the same key
    this.#login = undefined;
    try {
      const found = await this.#logins.logIn(this.#session, given);
      this.#login = found;
      this.#context = { org: found.cachedPrincipal().org.id, operation: 'smtp submission' };
      clearTimeout(this.#loginTimer);
      if (this.#session.isClosed) found.logOut();
      await found.principal();
    } catch (error) {
      const reply = asLoginReply(error);
      const isLast = reply.responseCode === 535 && ++this.#wrongLogins >= maxWrongLogins;
      throw isLast ? new Reply(421, '4.7.0', 'too many wrong logins; come again with the right one') : reply;
    }
  }

  beginMessage({ parameters }: PathArgument): void | Promise<void> {
    if (parameters.has('SMTPUTF8'))
      throw new Reply(550, '5.6.7', 'SMTPUTF8 is not offered: write domains in ASCII, and headers as RFC 2047 has them');
    this.#envelope.clear();
    return this.#login!.beginMessage();
  }

  addRecipient(written: string): void {
    const read = readAddress(written);
    if (read instanceof InvalidAddress) throw new Reply(553, '5.1.3', `the recipient ${read.why}`);
    const folded = foldAddress(read.address);
    if (this.#envelope.size >= limits.recipients && !this.#envelope.has(folded)) throw new Reply(452, '4.5.3', 'too many recipients');
    this.#envelope.set(folded, read.address);
  }

  expectMessage(): MessageLimits {
    const held = this.#receiving.memoryBudget.open({ org: this.#context!.org });
    const deadline = this.#session.closeAfter(timeouts.messageMs, 'the message did not arrive in time');
    return {
      mostBytes: limits.bytes,
      gatheredBytes: maxInMemoryBytes,
      hold: held.reserve,
      end: () => {
        clearTimeout(deadline);
        held.release();
      },
    };
  }

  async takeMessage(message: Message): Promise<string> {
    const receiving = this.#receiving;
    const principal = await this.#login!.principal();
    const id = await runFor(
      this.#context!,
      () => receiveMessage(receiving, principal, [...this.#envelope.values()], message),
      receiving.app.watch,
    );
    return `2.0.0 Ok: queued as ${id}`;
  }

  takeTurn(): Promise<void> | undefined {
    return this.#context && this.#receiving.app.watch.takeTurn(this.#context);
  }

  end(): void {
    clearTimeout(this.#loginTimer);
    this.#login?.logOut();
  }
}

/** Maps a failed login to the codes of RFC 4954. */
function asLoginReply(error: unknown): Reply {
  const isRefusal = error instanceof Refusal;
  if (isRefusal && error.status === 429) return new Reply(421, '4.7.0', error.message);
  if (isRefusal && error.status === 403) return new Reply(535, '5.7.8', error.message);
  return replyFor(error);
}
