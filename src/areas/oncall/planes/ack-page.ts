import type { FastifyInstance, FastifyReply } from 'fastify';
import { memberOf } from '../../../identity/store/members.ts';
import type { App } from '../../../kernel/app.ts';
import { sendHtml } from '../../../kernel/http/html.ts';
import { readAckLink } from '../engine/ack-link.ts';
import { answerPage } from '../engine/answer-page.ts';
import { describeAlerts } from '../engine/pages/describe-alerts.ts';
import { incidentById } from '../store/incidents.ts';
import { pageById } from '../store/pages.ts';
import { ackView } from '../views/ack-page.ts';

type Route = { Params: { link: string } };

/** The link in a page's mail. GET shows the incident and changes nothing, since mail scanners follow links; POST acknowledges. */
export function ackPage(server: FastifyInstance, app: App) {
  server.get<Route>('/oncall/ack/:link', async (request, reply) => {
    const found = await incidentOf(app, request.params.link);
    if (!found) return unknown(reply);
    const { org, incident, page } = found;
    if (!found.isMember) return refuseStranger(reply);
    const fires = await app.db.read((tx) => describeAlerts(tx, org, incident.id));
    return sendHtml(reply, 200, `${incident.service_name}: ${incident.title}`, ackView(incident, page.label, fires));
  });

  server.post<Route>('/oncall/ack/:link', async (request, reply) => {
    const found = await incidentOf(app, request.params.link);
    if (!found) return unknown(reply);
    const { org, page: paged, incident } = found;
    const settled = await app.db.write((tx) => answerPage(tx, org, paged, 'acknowledge'));
    if (settled === 'stranger') return refuseStranger(reply);
    const words =
      settled?.is === 'acknowledged'
        ? 'Acknowledged. Nobody else will be paged.'
        : `This incident is ${settled?.incident.status ?? 'gone'} already.`;
    return sendHtml(reply, 200, `${incident.service_name}: ${incident.title}`, `<p>${words}</p>`);
  });
}

async function incidentOf(app: App, link: string) {
  const named = readAckLink(app, link);
  if (!named) return undefined;
  return app.db.read(async (tx) => {
    const paged = await pageById(tx, named.org, named.pageId);
    const incident = paged && (await incidentById(tx, named.org, paged.incident_id));
    return incident && { org: named.org, page: paged, incident, isMember: Boolean(await memberOf(tx, named.org, paged.user_id)) };
  });
}

const unknown = (reply: FastifyReply) =>
  sendHtml(reply, 404, 'Not a link of ours', '<p>The link is damaged, or what it was for is gone.</p>');

const refuseStranger = (reply: FastifyReply) =>
  sendHtml(reply, 403, 'Not yours any more', '<p>Whoever this link was sent to is no member of the organization any more.</p>');
