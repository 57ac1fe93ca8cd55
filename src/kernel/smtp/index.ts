// What SMTP doors have in common: a server that counts its connections, and answers in the house's words.
export { type Answer, closeServer, cutAfter, drainRest, handOver, listenAt } from './door.ts';
export { Reply, replyFor } from './reply.ts';
export { type Counted, CountedConnection, CountedServer } from './server.ts';
