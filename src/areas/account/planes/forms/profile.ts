import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import { Email, Name } from '../../../../../contract/common.ts';
import { makeAttempts } from '../../../../identity/attempts.ts';
import { escaped, sendHtml } from '../../../../kernel/http/html.ts';
import { checker } from '../../../../kernel/http/validate.ts';
import { askForAddress, changeName, lookAtAddress, proveAddress } from '../../engine/profile.ts';
import type { Forms } from './forms.ts';
import { fieldOf, paramOf, requireFresh, requireSignedIn, sentForm, shownPage } from './page.ts';

const checkName = checker(Type.Object({ name: Name }), 'body');
const checkEmail = checker(Type.Object({ email: Email }), 'body');

const back = '<p><a href="/account">Your account</a></p>';

/** A person's name and address. */
export function profilePlane(server: FastifyInstance, app: Forms): void {
  server.post(
    '/account/name',
    sentForm(app, async (request, reply) => {
      const person = await requireSignedIn(app, request, '/account');
      const { name } = checkName({ name: fieldOf(request, 'name') }) as { name: string };
      await app.db.write((tx) => changeName(tx, app, person, name, request.id));
      reply.redirect('/account', 303);
    }),
  );
  server.post(
    '/account/address',
    sentForm(app, async (request, reply) => {
      const person = await requireFresh(app, request, '/account');
      const { email } = checkEmail({ email: fieldOf(request, 'email') }) as { email: string };
      const outcome = await app.db.write((tx) => askForAddress(tx, app, person, email, request.id));
      if (outcome === 'changed') return reply.redirect('/account', 303);
      const told = `<p>A mail with a link is on its way to <b>${escaped(email)}</b>. Open it in this browser; until then your address stays ${escaped(person.email)}.</p>`;
      return sendHtml(reply, 200, 'Look at your mail', told + back);
    }),
  );
  addressLinks(server, app);
}

function addressLinks(server: FastifyInstance, app: Forms): void {
  const attempts = makeAttempts(app);
  server.get(
    '/account/address/:secret',
    shownPage(app, async (request, reply) => {
      const person = await requireSignedIn(app, request);
      const look = () => app.db.read((tx) => lookAtAddress(tx, paramOf(request, 'secret'), person));
      const email = (await attempts.lookUp(request.raw, undefined, look))!;
      const body = `<p>Your address changes from ${escaped(person.email)} to <b>${escaped(email)}</b>.</p><form method="post"><button>Change address</button></form>`;
      sendHtml(reply, 200, 'Your new address', body + back);
    }),
  );
  server.post(
    '/account/address/:secret',
    sentForm(app, async (request, reply) => {
      const person = await requireSignedIn(app, request);
      const prove = async () => {
        await app.db.write((tx) => proveAddress(tx, app, paramOf(request, 'secret'), person, request.id));
        return true;
      };
      await attempts.lookUp(request.raw, undefined, prove);
      reply.redirect('/account', 303);
    }),
  );
}
