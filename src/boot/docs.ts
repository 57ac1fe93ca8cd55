import type { Readable } from 'node:stream';
import Fastify, { type FastifyInstance, type FastifyReply } from 'fastify';
import type { Op } from '../../contract/common.ts';
import { openapi } from '../../contract/openapi.ts';
import { pacedBytes } from '../kernel/http/paced-bytes.ts';
import { pageScript, referencePage, referencePolicy, scriptPaths } from './reference-page.ts';

/** The API described by itself: only what this process serves. */
export function docs(server: FastifyInstance, served: Op[], version: string): void {
  // Each text is one buffer for all connections: a string is copied for each, and stays in memory until the client has read it.
  let text: Buffer | undefined;
  server.get('/api/v1/openapi.json', (_request, reply) => {
    text ??= Buffer.from(JSON.stringify(openapi(served, version)));
    reply.header('Cache-Control', 'public, max-age=60').type('application/json').send(sendLarge(reply, text));
  });

  let page: Buffer | undefined;
  for (const url of ['/docs', '/docs/'])
    server.get(url, (_request, reply) => {
      page ??= Buffer.from(referencePage(openapi(served, version)));
      reply.header('Content-Security-Policy', referencePolicy).type('text/html; charset=utf-8').send(sendLarge(reply, page));
    });

  server.get(scriptPaths.page, (_request, reply) => reply.type(javascript).send(pageScript));
  let library: Promise<Buffer> | undefined;
  server.get(scriptPaths.library, async (_request, reply) => {
    library ??= readLibrary().catch((error) => {
      library = undefined;
      throw error;
    });
    return reply.type(javascript).send(sendLarge(reply, await library));
  });
}

const javascript = 'text/javascript; charset=utf-8';

const sendLarge = (reply: FastifyReply, bytes: Buffer): Readable => {
  reply.header('Content-Length', bytes.length);
  return pacedBytes(bytes);
};

/** The library's script is served by its own plugin only, which is asked once. Read when somebody first looks: it costs 20 MiB. */
async function readLibrary(): Promise<Buffer> {
  const { default: scalar } = await import('@scalar/fastify-api-reference');
  const carrier = Fastify();
  await carrier.register(scalar, { routePrefix: '/docs', configuration: { url: '/api/v1/openapi.json' } });
  const { rawPayload, statusCode } = await carrier.inject(scriptPaths.library);
  await carrier.close();
  if (statusCode !== 200) throw new Error(`the script of /docs is missing in its package (${statusCode})`);
  return rawPayload;
}
