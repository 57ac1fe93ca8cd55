// What SMTP doors have in common: a server that counts its connections, and a session that speaks and answers in the house's words.
export type { Credentials, Named } from './commands.ts';
export { type ConnectionSlots, makeConnectionSlots } from './connection-slots.ts';
export { chainPieces, type Expected, type Message, unusable } from './message.ts';
export { Reply, replyFor } from './reply.ts';
export { makeSmtpServer, type SmtpServer } from './server.ts';
export { Session, type SessionHandler } from './session.ts';
