import type { FastifyReply, FastifyRequest } from 'fastify';
import type { App } from '../../kernel/app.ts';
import { authorize } from '../context.ts';
import type { AnyAnswer, Operation } from '../operation.ts';

type Ask = () => Promise<AnyAnswer>;
export type AnswerFromCache = (operation: Operation<undefined>, request: FastifyRequest, reply: FastifyReply, ask: Ask) => unknown;

/** Caches answers per caller and URL, without SQL or serialization, until one of their topics is dropped. */
export function makeAnswerCache(app: App): AnswerFromCache {
  // Bounded by size as well: one caller can request many and large pages of one list.
  const answers = app.caches.make<string>({ max: 5_000, bytes: { of: (text) => Buffer.byteLength(text), most: 16 * 1024 * 1024 } });
  return ({ spec, remember }, request, reply, ask) => {
    const principal = request.principal!;
    authorize(spec, principal);
    const place = `${principal.actsAs} ${request.url}`;
    const known = answers.peek(place);
    if (known) return sendText(reply, known);
    const filled = answers.get(place, async () => {
      const { status, body } = await ask();
      return { value: reply.code(status).serialize(body) as string, topics: remember!(principal), tenant: principal.org.id };
    });
    return filled.then((text) => sendText(reply, text!));
  };
}

/** As text: Node writes it together with the header; a Buffer would be a second write. */
const sendText = (reply: FastifyReply, text: string) =>
  reply.code(200).header('content-type', 'application/json; charset=utf-8').send(text);
