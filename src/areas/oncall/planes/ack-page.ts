import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { memberOf } from '../../../identity/store/members.ts';
import type { App } from '../../../kernel/app.ts';
import { addressKey } from '../../../kernel/http/anonymous-caller.ts';
import { sendHtml } from '../../../kernel/http/html.ts';
import { readAckLink } from '../engine/ack-link.ts';
import { answerPage } from '../engine/answer-page.ts';
import { describeAlerts } from '../engine/pages/describe-alerts.ts';
import type { ReplyRunner } from '../engine/pages/reply-runner.ts';
import { confirmTestPage } from '../engine/pages/test-pages.ts';
import { incidentById } from '../store/incidents.ts';
import { pageById } from '../store/pages.ts';
import { testPageById } from '../store/test-pages.ts';
import { ackView, testView } from '../views/ack-page.ts';

type Route = { Params: { link: string } };
type LinkRequest = Pick<FastifyRequest<Route>, 'params' | 'raw'>;

/** The link in a page's mail. GET only shows the incident, because mail scanners follow links; POST acknowledges. */
export function ackPage(server: FastifyInstance, app: App, runReply: ReplyRunner) {
  const answer = async (
    { params, raw }: LinkRequest,
    reply: FastifyReply,
    act: (found: PagedIncident) => Promise<FastifyReply>,
    actOnTest: (named: PageName) => Promise<FastifyReply>,
  ) => {
    const named = readAckLink(app, params.link);
    if (!named) return sendUnknownLink(reply);
    const find = async () => {
      const found = await findPaged(app, named);
      return found ? act(found) : actOnTest(named);
    };
    return runReply(named.org, 'ack page', find, () => addressKey(app.peers, raw));
  };

  server.get<Route>('/oncall/ack/:link', (request, reply) =>
    answer(
      request,
      reply,
      async ({ org, incident, page, isMember }) => {
        if (!isMember) return refuseNonMember(reply);
        const fires = await app.db.read((tx) => describeAlerts(tx, org, incident.id));
        return sendHtml(reply, 200, `${incident.service_name}: ${incident.title}`, ackView(incident, page.label, fires));
      },
      async ({ org, pageId }) => {
        const page = await app.db.read((tx) => testPageById(tx, org, pageId));
        return page ? sendHtml(reply, 200, 'Test page', testView(page.label)) : sendUnknownLink(reply);
      },
    ),
  );

  server.post<Route>('/oncall/ack/:link', (request, reply) =>
    answer(
      request,
      reply,
      async ({ org, page, incident }) => {
        const settled = await app.db.write((tx) => answerPage(tx, org, page, 'acknowledge'));
        if (settled === 'not-a-member') return refuseNonMember(reply);
        const words =
          settled?.is === 'acknowledged'
            ? 'Acknowledged. Nobody else will be paged.'
            : `This incident is ${settled?.incident.status ?? 'gone'} already.`;
        return sendHtml(reply, 200, `${incident.service_name}: ${incident.title}`, `<p>${words}</p>`);
      },
      async ({ org, pageId }) => {
        const page = await app.db.write((tx) => confirmTestPage(tx, org, pageId));
        return page
          ? sendHtml(reply, 200, 'Test page', '<p>Your answer has arrived. Pages by this way reach you.</p>')
          : sendUnknownLink(reply);
      },
    ),
  );
}

type PageName = NonNullable<ReturnType<typeof readAckLink>>;

const findPaged = (app: App, { org, pageId }: PageName) =>
  app.db.read(async (tx) => {
    const page = await pageById(tx, org, pageId);
    const incident = page && (await incidentById(tx, org, page.incident_id));
    return incident && { org, page, incident, isMember: Boolean(await memberOf(tx, org, page.user_id)) };
  });

type PagedIncident = NonNullable<Awaited<ReturnType<typeof findPaged>>>;

const sendUnknownLink = (reply: FastifyReply) =>
  sendHtml(reply, 404, 'Not a link of ours', '<p>The link is damaged, or what it was for is gone.</p>');

const refuseNonMember = (reply: FastifyReply) =>
  sendHtml(reply, 403, 'Not yours any more', '<p>The person this link was sent to is no member of the organization any more.</p>');
