import type { FastifyInstance } from 'fastify';
import { openapi } from '../../contract/openapi.ts';
import type { Op } from '../../contract/shared.ts';

/** The API described by itself: only what this process serves. */
export function docs(server: FastifyInstance, served: Op[], version: string) {
  let text: string | undefined;
  server.get('/api/v1/openapi.json', (_request, reply) => {
    text ??= JSON.stringify(openapi(served, version));
    reply.header('Cache-Control', 'public, max-age=60').type('application/json').send(text);
  });

  server.register(async (scope) => {
    scope.addHook('onRequest', async (_request, reply) => {
      reply.raw.setHeader('Content-Security-Policy', "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; connect-src 'self'; frame-ancestors 'none'");
    });
    const { default: reference } = await import('@scalar/fastify-api-reference');
    await scope.register(reference, {
      routePrefix: '/docs',
      configuration: { url: '/api/v1/openapi.json', title: 'Quarterdeck API', withDefaultFonts: false, telemetry: false, hideClientButton: true, proxyUrl: '' } as never,
    });
  });
}
