import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { makeAttempts } from '../../../../identity/attempts.ts';
import { rightsOf } from '../../../../identity/rights.ts';
import { organizationsOf } from '../../../../identity/store/members.ts';
import type { SignedIn } from '../../../../identity/store/sessions.ts';
import { forbidden, invalid, Refusal } from '../../../../kernel/errors.ts';
import { escaped, sendHtml } from '../../../../kernel/http/html.ts';
import { approve, type Choice, findByTypedCode, refuse } from '../../engine/device.ts';
import { lifetimes, offeredRoles, viewingRoles } from '../../rules/device-choice.ts';
import { approvalForm, codeForm } from '../../views/device-page.ts';
import type { Forms } from './forms.ts';
import { fieldOf, requireFresh, requireSignedIn, sentForm, shownPage, visitorOf } from './page.ts';

/** Where a person types the code of a program and decides what it may do. Query parameters are never read: no link fills in a code. */
export function deviceForms(server: FastifyInstance, app: Forms): void {
  const attempts = makeAttempts(app);
  const find = async (request: FastifyRequest, person: SignedIn) =>
    (await attempts.lookUp(request.raw, undefined, () => findByTypedCode(app, person, fieldOf(request, 'code'))))!;

  server.get(
    path,
    shownPage(app, async (request, reply) => {
      await requireFresh(app, request, path);
      sendHtml(reply, 200, title, codeForm());
    }),
  );
  server.post(
    path,
    sentForm(app, async (request, reply) => {
      const person = await requireFresh(app, request, path);
      const asking = await find(request, person).catch((error: unknown) => showAgain(reply, error));
      if (!asking) return;
      const organizations = await app.db.read((tx) => organizationsOf(tx, person.id));
      if (!organizations.length) forbidden('you belong to no organization yet: accept an invitation first');
      sendHtml(reply, 200, title, approvalForm(fieldOf(request, 'code'), asking, person.email, organizations));
    }),
  );
  server.post(
    `${path}/approve`,
    sentForm(app, async (request, reply) => {
      const person = await requireFresh(app, request, path);
      const asking = await find(request, person);
      const choice = await choiceOf(app, person, request);
      await app.db.write((tx) => approve(tx, app, person, asking, choice, visitorOf(app, request)));
      const said = `<p><b>${escaped(asking.program)}</b> acts for you from now on. It goes on by itself within a few seconds: stay signed in until then.</p>`;
      sendHtml(
        reply,
        200,
        'Approved',
        `${said}<p>Its token is on the page of your <a href="/account/tokens">tokens</a>, where you can revoke it.</p>`,
      );
    }),
  );
  server.post(
    `${path}/refuse`,
    sentForm(app, async (request, reply) => {
      const person = await requireSignedIn(app, request, path);
      const asking = await find(request, person);
      await app.db.write((tx) => refuse(tx, person, asking, visitorOf(app, request)));
      sendHtml(reply, 200, 'Refused', `<p><b>${escaped(asking.program)}</b> gets nothing.</p>`);
    }),
  );
}

const title = 'Let a program act for you';

/** A form cannot be sent again after signing in once more: the person begins with the code. */
const path = '/device';

/** A wrong code is typed again on the same page. */
function showAgain(reply: FastifyReply, error: unknown): undefined {
  if (!(error instanceof Refusal) || error.status !== 404) throw error;
  sendHtml(reply, 404, title, codeForm(error.message));
  return undefined;
}

async function choiceOf(app: Forms, person: SignedIn, request: FastifyRequest): Promise<Choice> {
  const days = lifetimes.find((each) => String(each) === fieldOf(request, 'days')) ?? invalid('choose for how long');
  const slug = fieldOf(request, 'organization');
  const { found, grants } = await app.db.read(async (tx) => {
    const found = (await organizationsOf(tx, person.id)).find((each) => each.slug === slug);
    return { found, grants: found && (await rightsOf(tx, found.id, person.id)) };
  });
  if (!found || !grants) return forbidden('choose an organization that you belong to');
  const ticked = offeredRoles.map(({ id }) => id).filter((id) => fieldOf(request, `role.${id}`));
  const rights = fieldOf(request, 'rights');
  if (ticked.length && rights !== 'roles') invalid('you ticked roles, and chose something else above them; go back and choose one of both');
  const offered = { everything: null, see: viewingRoles(grants).map(({ id }) => id), roles: ticked };
  if (!isOffered(rights, offered)) return invalid('choose what the program may do');
  const chosen = offered[rights];
  if (chosen?.length === 0) invalid('choose at least one role that you hold; go back and choose again');
  return { org: found.id, scope: chosen?.map((role) => ({ role })) ?? null, days };
}

const isOffered = <T extends object>(text: string, offered: T): text is keyof T & string => Object.hasOwn(offered, text);
