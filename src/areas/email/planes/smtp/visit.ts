import { Refusal } from '../../../../kernel/errors.ts';
import { runFor, type WorkContext } from '../../../../kernel/fairness/index.ts';
import { Reply, replyFor, type Session, type SessionHandler } from '../../../../kernel/smtp/index.ts';
import { readAddress, Unusable } from '../../rules/address.ts';
import { foldAddress } from '../../rules/envelope.ts';
import { limits } from '../../rules/limits.ts';
import type { Login, Logins } from './logins.ts';
import { gatheredBytes, type Receiving, receiveMessage } from './receive.ts';

const times = {
  /** A connection that has not logged in by then is closed. */
  loginMs: 60_000,
  /** The whole of one message. */
  messageMs: 10 * 60_000,
};
const mostWrongLogins = 3;

/** Somebody at the door: who it is, and what it may do next. */
export const openVisit =
  (receiving: Receiving, logins: Logins) =>
  (session: Session): SessionHandler => {
    const { app } = receiving;
    let login: Login | undefined;
    /** For whom what it says is read. */
    let context: WorkContext | undefined;
    let wrong = 0;
    let timer: NodeJS.Timeout | undefined;
    /** Whom the message is for, by the folded address: each once. */
    const envelope = new Map<string, string>();

    return {
      begin() {
        timer = session.cutAfter(times.loginMs, 'nobody logged in; come again');
      },
      async logIn(given) {
        login?.leave(); // STARTTLS made nothing of it; left later, it would take the new login of the same key along
        login = undefined;
        try {
          const found = await logins.logIn(session, given);
          login = found;
          context = { org: found.latest().org.id, operation: 'smtp submission' };
          clearTimeout(timer);
          if (session.isClosed) found.leave();
          await found.principal();
        } catch (error) {
          const reply = asLoginReply(error);
          const isLast = reply.responseCode === 535 && ++wrong >= mostWrongLogins;
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
        if (read instanceof Unusable) throw new Reply(553, '5.1.3', `the recipient ${read.why}`);
        const folded = foldAddress(read.address);
        if (envelope.size >= limits.recipients && !envelope.has(folded)) throw new Reply(452, '4.5.3', 'too many recipients');
        envelope.set(folded, read.address);
      },
      expectMessage() {
        const held = receiving.held.open({ org: context!.org });
        const deadline = session.cutAfter(times.messageMs, 'the message did not arrive in time');
        return {
          mostBytes: limits.bytes,
          gatheredBytes,
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
        login?.leave();
      },
    };
  };

/** A wrong login in the words of RFC 4954. */
function asLoginReply(error: unknown): Reply {
  const isOfHouse = error instanceof Refusal;
  if (isOfHouse && error.status === 429) return new Reply(421, '4.7.0', error.message);
  if (isOfHouse && error.status === 403) return new Reply(535, '5.7.8', error.message);
  return replyFor(error);
}
