import { Refusal } from '../../../../../kernel/errors.ts';
import { runFor, type WorkContext } from '../../../../../kernel/fairness/index.ts';
import { Reply, replyFor, type Session, type SessionHandler } from '../../../../../kernel/smtp/index.ts';
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

/** Handles one submission connection: login, envelope, message. */
export const openSubmissionSession =
  (receiving: SubmissionContext, logins: Logins) =>
  (session: Session): SessionHandler => {
    const { app } = receiving;
    let login: Login | undefined;
    /** The organization that pays for the work of this connection; undefined before login. */
    let context: WorkContext | undefined;
    let wrongLogins = 0;
    let timer: NodeJS.Timeout | undefined;
    /** Recipients by folded address, so each appears once. */
    const envelope = new Map<string, string>();

    return {
      begin() {
        timer = session.closeAfter(timeouts.loginMs, 'nobody logged in; come again');
      },
      async logIn(given) {
        login?.logOut(); // first: a later log-out would also end the new login of the same key
        login = undefined;
        try {
          const found = await logins.logIn(session, given);
          login = found;
          context = { org: found.cachedPrincipal().org.id, operation: 'smtp submission' };
          clearTimeout(timer);
          if (session.isClosed) found.logOut();
          await found.principal();
        } catch (error) {
          const reply = asLoginReply(error);
          const isLast = reply.responseCode === 535 && ++wrongLogins >= maxWrongLogins;
          throw isLast ? new Reply(421, '4.7.0', 'too many wrong logins; come again with the right one') : reply;
        }
      },
      beginMessage({ parameters }) {
        if (parameters.has('SMTPUTF8'))
          throw new Reply(550, '5.6.7', 'SMTPUTF8 is not offered: write domains in ASCII, and headers as RFC 2047 has them');
        envelope.clear();
        return login!.beginMessage();
      },
      addRecipient(written) {
        const read = readAddress(written);
        if (read instanceof InvalidAddress) throw new Reply(553, '5.1.3', `the recipient ${read.why}`);
        const folded = foldAddress(read.address);
        if (envelope.size >= limits.recipients && !envelope.has(folded)) throw new Reply(452, '4.5.3', 'too many recipients');
        envelope.set(folded, read.address);
      },
      expectMessage() {
        const held = receiving.memoryBudget.open({ org: context!.org });
        const deadline = session.closeAfter(timeouts.messageMs, 'the message did not arrive in time');
        return {
          mostBytes: limits.bytes,
          gatheredBytes: maxInMemoryBytes,
          hold: held.reserve,
          end: () => {
            clearTimeout(deadline);
            held.release();
          },
        };
      },
      async takeMessage(message) {
        const principal = await login!.principal();
        const id = await runFor(context!, () => receiveMessage(receiving, principal, [...envelope.values()], message), app.watch);
        return `2.0.0 Ok: queued as ${id}`;
      },
      takeTurn: () => context && app.watch.takeTurn(context),
      end() {
        clearTimeout(timer);
        login?.logOut();
      },
    };
  };

/** Maps a failed login to the codes of RFC 4954. */
function asLoginReply(error: unknown): Reply {
  const isRefusal = error instanceof Refusal;
  if (isRefusal && error.status === 429) return new Reply(421, '4.7.0', error.message);
  if (isRefusal && error.status === 403) return new Reply(535, '5.7.8', error.message);
  return replyFor(error);
}
