import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import { Name } from '../../../../../contract/common.ts';
import { makeAttempts } from '../../../../identity/attempts.ts';
import { sendHtml } from '../../../../kernel/http/html.ts';
import { checker } from '../../../../kernel/http/validate.ts';
import { joinAnew, joinSignedIn, lookAtJoin } from '../../engine/join.ts';
import { joinPage } from '../../views/join-page.ts';
import type { Forms } from './forms.ts';
import { fieldOf, paramOf, sentForm, setSession, shownPage, visitorOf } from './page.ts';

const checkName = checker(Type.Object({ name: Name }), 'body');

/** What an invitation link opens. A GET changes nothing, a POST joins. */
export function joinForms(server: FastifyInstance, app: Forms): void {
  const attempts = makeAttempts(app);
  server.get(
    '/join/:secret',
    shownPage(app, async (request, reply) => {
      const secret = paramOf(request, 'secret');
      const offer = (await attempts.lookUp(request.raw, undefined, () => app.db.read((tx) => lookAtJoin(tx, secret))))!;
      const person = await app.findSignedIn(request.raw);
      sendHtml(reply, 200, `Join ${offer.org.name}`, joinPage(offer, person, `/join/${secret}`));
    }),
  );
  server.post(
    '/join/:secret',
    sentForm(app, async (request, reply) => {
      const secret = paramOf(request, 'secret');
      const visitor = visitorOf(app, request);
      const person = await app.findSignedIn(request.raw);
      const name = fieldOf(request, 'name').trim() ? (checkName({ name: fieldOf(request, 'name') }) as { name: string }).name : undefined;
      const started = await attempts.lookUp(request.raw, undefined, () =>
        app.db.write(async (tx) => {
          if (!person) return joinAnew(tx, app, secret, name, visitor);
          await joinSignedIn(tx, app, secret, person, request.id);
          return { key: undefined };
        }),
      );
      if (started!.key) setSession(app, reply, started!.key);
      reply.redirect('/account', 303);
    }),
  );
}
