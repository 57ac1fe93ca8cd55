/**
 * HTTP on the main port: the control API (Fastify), and planes (raw node:http) for protocols that others have shaped. Files are imported by
 * their names; this one only tells how they belong together.
 *
 * Actors. A caller is anonymous, known by its address, until a token of it was valid (anonymous-caller.ts). A proxy of the operator may stand
 * in between: peer.ts and proxies.ts decide which headers of it are trusted, and no other code reads addresses.
 *
 * Flow of a request: connections.ts admits the connection → pipelining.ts passes one request at a time to node's parser → request-id.ts
 * names it → framing.ts refuses what two parsers could read differently → a plane that owns the request takes it (plane.ts), else Fastify
 * (server.ts) → body.ts reads the body within limits of size, time and memory, json.ts parses it in short steps → validate.ts checks it against
 * the contract → the handler → serializers.ts writes the answer. A response that is ready in memory is sent right after framing (`takeReady`).
 *
 * Refusals. Every error becomes a `Refusal` with a status, a code and a sentence. temporary-failure.ts words an unavailable database.
 * delayed-refusals.ts delays 429 while the event loop is busy. discard.ts reads the rest of a refused body, so that the client reads the answer.
 *
 * Bounds. Connections by address and in total, one request in flight a connection, bytes of bodies by organization, credential and address,
 * output that is not read for 30 s. joined-chunks.ts joins tiny chunks, and paced-bytes.ts gives large responses one shared rate.
 *
 * Crashes. All state is in memory. An unanswered request may or may not have happened; a client repeats it with its Idempotency-Key.
 * timings.ts and quick-counter.ts are cheap metrics.
 */
export {};
