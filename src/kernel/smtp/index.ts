// The common part of SMTP endpoints (submission and inbound mail).
// - server.ts: accepts connections, handles TLS, and stops gracefully. connection-slots.ts limits connections by address and in total, and
//   picks one to evict.
// - session.ts: the SMTP commands of one connection, on top of connection.ts, which reads bytes, pauses the client and handles STARTTLS.
//   command-limits.ts counts its lines; login-dialogue.ts holds the lines of AUTH. commands.ts parses arguments; replies.ts holds the fixed
//   replies; reply.ts maps refusals to SMTP codes.
// - message.ts: a message during DATA. data-reader.ts finds its end and line-ends.ts refuses lone CR or LF. A small message is buffered; a
//   large one is streamed to the handler while it arrives.
// A `SessionHandler` of the area decides about logins, senders, recipients and messages. 250 after DATA is sent only once its `takeMessage`
// has settled, so an unanswered message stays with the client. All state is in memory: after a crash clients reconnect and send again.
export type { Credentials, PathArgument } from './commands.ts';
export { type ConnectionSlots, makeConnectionSlots } from './connection-slots.ts';
export { chainPieces, type Message, type MessageLimits, unusableMessage } from './message.ts';
export { Reply, replyFor } from './reply.ts';
export { makeSmtpServer, type SmtpServer } from './server.ts';
export { Session } from './session.ts';
export type { SessionHandler } from './session-handler.ts';
