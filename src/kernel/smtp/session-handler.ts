import type { Credentials, PathArgument } from './commands.ts';
import type { Message, MessageLimits } from './message.ts';
import type { Reply } from './reply.ts';

/** The area's side of one connection: it decides about the client's commands. Thrown errors are sent to the client. */
export interface SessionHandler {
  /** Before the greeting. */
  begin(): void;
  /** Undefined: this endpoint has no login. */
  logIn?(given: Credentials): Promise<void>;
  beginMessage(sender: PathArgument): void | Promise<void>;
  addRecipient(address: string): void | Promise<void>;
  /** At DATA: the limits of the message. */
  expectMessage(): MessageLimits;
  /** Returns the sentence after 250. */
  takeMessage(message: Message): Promise<string>;
  /** Called before each chunk is read: undefined, or a promise to wait for. A known sender has a share of the event loop. */
  takeTurn?(): Promise<void> | undefined;
  /** Replaces a refusal, of any kind. */
  countRefusal?(reply: Reply): Reply;
  end(): void;
}
