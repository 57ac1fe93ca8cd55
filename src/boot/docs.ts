import type { Readable } from 'node:stream';
import Fastify, { type FastifyInstance, type FastifyReply } from 'fastify';
import type { Op } from '../../contract/common.ts';
import { openapi } from '../../contract/openapi.ts';
import { guarded } from '../kernel/faults/guarded.ts';
import { pacedBytes } from '../kernel/http/paced-bytes.ts';
import { installErrorHandlers, refuseTarget } from '../kernel/http/server.ts';
import type { Logger } from '../kernel/log.ts';

const policy =
  "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; connect-src 'self'; frame-ancestors 'none'";

/** The API described by itself: only what this process serves. */
export function docs(server: FastifyInstance, served: Op[], version: string, log: Logger) {
  let text: Buffer | undefined;
  server.get('/api/v1/openapi.json', (_request, reply) => {
    text ??= Buffer.from(JSON.stringify(openapi(served, version)));
    reply.header('Cache-Control', 'public, max-age=60').type('application/json').send(sendLarge(reply, text));
  });

  // A server of its own behind these routes, made when somebody first looks: the reference costs 20 MiB that most processes never need.
  let pages: Promise<FastifyInstance> | undefined;
  for (const url of ['/docs', '/docs/*']) {
    server.get(url, async (request, reply) => {
      pages ??= reference(log);
      const { routing } = await pages;
      reply.hijack();
      for (const [name, value] of Object.entries(reply.getHeaders())) reply.raw.setHeader(name, value as string);
      reply.raw.setHeader('content-security-policy', policy);
      routing(request.raw, reply.raw);
    });
  }
}

const favicon = `data:image/svg+xml,${encodeURIComponent(
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="3" fill="#0550ae"/><path d="M4 11h8M5 8h6M7 5h2" stroke="#fff" stroke-width="1.6"/></svg>',
)}`;
const vendorHidden = 'a[href*="scalar.com"]{display:none!important}';

/** A text of this size is sent at the pace that all large answers share. */
const largeBytes = 65_536;

const sendLarge = (reply: FastifyReply, bytes: Buffer): Readable => {
  reply.header('Content-Length', bytes.length);
  return pacedBytes(bytes);
};

/** A script of megabytes is one buffer for all connections: a string is copied for each, and stays in memory until the client has read it. */
function shareBytes(): (payload: unknown, reply: FastifyReply) => unknown {
  const bytes = new Map<string, Buffer>();
  return (payload, reply) => {
    if (typeof payload !== 'string' || payload.length < largeBytes) return payload;
    if (bytes.size > 8) bytes.clear();
    const known = bytes.get(payload) ?? Buffer.from(payload);
    bytes.set(payload, known);
    return sendLarge(reply, known);
  };
}

async function reference(log: Logger): Promise<FastifyInstance> {
  const { default: scalar } = await import('@scalar/fastify-api-reference');
  const pages: FastifyInstance = Fastify({
    genReqId: ({ requestId }) => requestId!, // the first server gave it
    frameworkErrors: guarded(
      'docs.framework-error',
      ([, { raw }]) => raw,
      (error, request, reply) => refuseTarget(error, request, reply as FastifyReply),
    ),
  });
  installErrorHandlers(pages, log);
  const share = shareBytes();
  pages.addHook('onSend', (_request, reply, payload, done) => done(null, share(payload, reply)));
  await pages.register(scalar, {
    routePrefix: '/docs',
    configuration: {
      url: '/api/v1/openapi.json',
      title: 'Quarterdeck API',
      favicon,
      withDefaultFonts: false,
      telemetry: false,
      proxyUrl: '',
      // To read. A pasted token fills the snippets and stays in the memory of the page; no request leaves from here.
      persistAuth: false,
      hideTestRequestButton: true,
      hideClientButton: true,
      // What the vendor adds: an assistant, sharing, publishing.
      agent: { disabled: true },
      mcp: { disabled: true },
      showDeveloperTools: 'never',
      showToolbar: 'never',
      customCss: vendorHidden,
    } as never,
  });
  await pages.ready();
  return pages;
}
