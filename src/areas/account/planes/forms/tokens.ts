import type { FastifyInstance } from 'fastify';
import { listOwnTokens, revokeOwnToken, revokeOwnTokens } from '../../engine/tokens.ts';
import { sendAccountPage } from '../../views/account-page.ts';
import { tokensList } from '../../views/tokens-list.ts';
import type { Forms } from './forms.ts';
import { paramOf, requireSignedIn, sentForm, shownPage } from './page.ts';

const path = '/account/tokens';

const how = '<p>Programs use tokens. Make one with <code>quarterdeck tokens create --name &lt;what it is for&gt;</code>.</p>';

/** A person's tokens, in all organizations of theirs. */
export function tokenForms(server: FastifyInstance, app: Forms): void {
  server.get(
    path,
    shownPage(app, async (request, reply) => {
      const person = await requireSignedIn(app, request);
      const all = await app.db.read((tx) => listOwnTokens(tx, person));
      sendAccountPage(reply, 'Your tokens', path, how + tokensList(all));
    }),
  );
  server.post(
    `${path}/:org/:id/revoke`,
    sentForm(app, async (request, reply) => {
      const person = await requireSignedIn(app, request, path);
      await revokeOwnToken(app, person, paramOf(request, 'org'), paramOf(request, 'id'), request.id);
      reply.redirect(path, 303);
    }),
  );
  server.post(
    `${path}/revoke`,
    sentForm(app, async (request, reply) => {
      await revokeOwnTokens(app, await requireSignedIn(app, request, path), request.id);
      reply.redirect(path, 303);
    }),
  );
}
