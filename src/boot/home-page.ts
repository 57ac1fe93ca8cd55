import type { FastifyInstance } from 'fastify';
import type { AreaInfo, Op } from '../../contract/common.ts';
import { areasOf } from '../../contract/openapi.ts';
import { sessionKeyIn } from '../identity/session-cookie.ts';
import type { App } from '../kernel/app.ts';
import { escaped, sendHtml } from '../kernel/http/html.ts';

/**
 * The page at `/`: people who are signed in are led to the console; others see what runs here and where to go on. Programs that want no page
 * get what any unknown path gets.
 */
export function homePage(server: FastifyInstance, app: Pick<App, 'peers' | 'publicUrl'>, served: Op[]): void {
  const body = homeBody(areasOf(served));
  server.get('/', (request, reply) => {
    if (!request.headers.accept?.includes('text/html')) return reply.callNotFound();
    reply.header('Vary', 'Accept, Cookie');
    if (sessionKeyIn(request.raw, app) !== undefined) return reply.redirect('/o', 303);
    return sendHtml(reply, 200, 'Quarterdeck', body);
  });
}

const firstSteps = [
  ['quarterdeck whoami', 'who you are here, and by which token'],
  ['quarterdeck --help', 'every command, by area'],
  ['quarterdeck tokens create --name ci', 'a token for a program, shown once'],
] as const;

export const homeBody = (areas: readonly AreaInfo[]): string => `
<p>The control room of a small cloud. This server runs:</p>
<ul>${areas.map(({ name, label, description }) => `<li><a href="/docs#tag/${escaped(name)}">${escaped(label)}</a><br><span class="faint">${escaped(description)}</span></li>`).join('')}</ul>
<h2>Go on</h2>
<ul>
<li><a href="/sign-in?next=/o">Sign in</a> to the console, or see <a href="/account">your account</a></li>
<li><a href="/docs">Every operation</a>, with its fields, answers and refusals</li>
<li><a href="/api/v1/openapi.json">The same as OpenAPI</a>, for programs</li>
</ul>
<h2>First steps</h2>
<p>The command line reads the address from <code>QUARTERDECK_URL</code> and a token from <code>QUARTERDECK_TOKEN</code>. On the machine of the
server it needs neither; in a clone it is called <code>./quarterdeck</code>.</p>
<ul>${firstSteps.map(([command, meaning]) => `<li><code>${escaped(command)}</code><br><span class="faint">${escaped(meaning)}</span></li>`).join('')}</ul>
<p class="faint">Without a token? An owner or admin of the organization invites you:
<code>quarterdeck organization invitations create</code>.</p>`;
