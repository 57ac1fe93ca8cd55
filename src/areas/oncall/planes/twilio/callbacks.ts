import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { memberOf } from '../../../../identity/store/members.ts';
import type { App } from '../../../../kernel/app.ts';
import type { Tx } from '../../../../kernel/db/index.ts';
import { Refusal } from '../../../../kernel/errors.ts';
import { runFor } from '../../../../kernel/fairness/index.ts';
import { type AnswerResult, answerPage } from '../../engine/answer-page.ts';
import { endUndelivered, markDelivered } from '../../engine/page-reports.ts';
import type { ReplyRunner } from '../../engine/pages/reply-runner.ts';
import { confirmTestPage, recordTestReport } from '../../engine/pages/test-pages.ts';
import type { AuthTokenOf } from '../../engine/provider.ts';
import { setStopped } from '../../engine/settings.ts';
import { callbackUrl } from '../../rules/callback-url.ts';
import { callReport, messageReport } from '../../rules/provider-reports.ts';
import { readReply } from '../../rules/sms-reply.ts';
import { announce, reply, sayAndEnd } from '../../rules/twiml.ts';
import { incidentById } from '../../store/incidents.ts';
import { pageById } from '../../store/pages.ts';
import { type PagedRow, pagesTo } from '../../store/provider.ts';
import { testPageTo } from '../../store/test-pages.ts';
import { isSigned } from './signature.ts';

type Route = { Params: { org: string; page: string } };
type Fields = Record<string, string>;

/** Provider callbacks: reports about messages and calls, pressed keys, and replies by text. */
export function twilioCallbacks(server: FastifyInstance, app: App, authTokenOf: AuthTokenOf, runReply: ReplyRunner) {
  const signed = (request: FastifyRequest<Route>) => readSigned(app, authTokenOf, request);
  server.post<Route>('/api/v1/oncall/twilio/:org/:page/status', async (request, answer) => {
    const fields = await signed(request);
    const { org } = request.params;
    // Reports have their own slots: a message causes several, and a storm of them must not delay answers.
    await app.requests.run(`${org} reports`, () =>
      runFor({ org, operation: 'twilio report' }, () => app.db.write((tx) => handleReport(tx, request.params, fields)), app.watch),
    );
    return answer.code(204).send();
  });

  server.post<Route>('/api/v1/oncall/twilio/:org/:page/gather', async (request, answer) => {
    const fields = await signed(request);
    const press = () => app.db.write((tx) => handleKey(tx, app, request.params, fields.Digits ?? ''));
    return twiml(answer, await runReply(request.params.org, 'twilio key', press));
  });

  server.post<Route>('/api/v1/oncall/twilio/:org/sms', async (request, answer) => {
    const fields = await signed(request);
    const { org } = request.params;
    const text = () => app.db.write((tx) => handleText(tx, org, fields.From ?? '', fields.Body ?? ''));
    return twiml(answer, reply(await runReply(org, 'twilio text', text)));
  });
}

const twiml = (answer: FastifyReply, text: string) => answer.type('text/xml; charset=utf-8').send(text);

/** Verifies the account's signature over the URL that we gave out, never over the Host header. */
async function readSigned(app: App, authTokenOf: AuthTokenOf, request: FastifyRequest<Route>): Promise<Fields> {
  const fields = (request.body ?? {}) as Fields;
  const given = request.headers['x-twilio-signature'];
  const token = typeof given === 'string' ? await authTokenOf(request.params.org) : undefined;
  if (token === undefined || !isSigned(token, app.publicUrl() + request.url, fields, given as string)) {
    throw new Refusal(
      403,
      'bad_signature',
      'the signature does not match; see that QUARTERDECK_PUBLIC_URL is the address the provider calls',
    );
  }
  return fields;
}

async function handleReport(tx: Tx, { org, page }: Route['Params'], fields: Fields): Promise<void> {
  const code = Number(fields.ErrorCode) || undefined;
  const outcome = fields.CallStatus ? callReport(fields.CallStatus) : messageReport(fields.MessageStatus ?? '', code);
  await recordTestReport(tx, org, page, outcome);
  if (outcome.is === 'delivered') await markDelivered(tx, org, page);
  if (outcome.is !== 'failed') return;
  // A call that was answered with a key succeeded, whatever the final report says.
  const known = await pageById(tx, org, page);
  if (known && known.state !== 'confirmed') await endUndelivered(tx, org, page, outcome);
}

async function handleKey(tx: Tx, app: App, { org, page: id }: Route['Params'], digits: string): Promise<string> {
  const page = await pageById(tx, org, id);
  const incident = page && (await incidentById(tx, org, page.incident_id));
  if (!page || !incident) return sayAndEnd((await confirmTestPage(tx, org, id)) ? testAnswered : 'This alert is not known any more.');
  if (digits !== '1' && digits !== '2')
    return announce({ title: incident.title, serviceName: incident.service_name }, callbackUrl(app.publicUrl(), { org, id }, 'gather'));
  return sayAndEnd(`${answerSentence(await answerPage(tx, org, page, digits === '1' ? 'acknowledge' : 'resolve'))} Goodbye.`);
}

const answerSentence = (settled: AnswerResult): string => {
  if (settled === 'not-a-member') return 'You are no member of this organization any more.';
  if (!settled) return 'This incident is not known any more.';
  if (settled.is !== 'already') return settled.is === 'acknowledged' ? 'Acknowledged.' : 'Resolved.';
  const { status, acknowledged_by, resolved_by } = settled.incident;
  return status === 'resolved'
    ? `Already resolved by ${resolved_by?.label ?? 'somebody'}.`
    : `Already acknowledged by ${acknowledged_by?.label ?? 'somebody'}.`;
};

const testAnswered = 'Your answer has arrived. It was a test. Goodbye.';

/** The person answered a test page by text. False: there is none for this phone. */
async function answerTest(tx: Tx, org: string, from: string, code: string | undefined): Promise<boolean> {
  const page = await testPageTo(tx, org, from, code);
  return page !== undefined && (await confirmTestPage(tx, org, page.id)) !== undefined;
}

/** Drops pages to former members: a phone may have changed its owner. */
async function pagesOfMembers(tx: Tx, org: string, paged: readonly PagedRow[]): Promise<PagedRow[]> {
  const left = new Set<string>();
  for (const id of new Set(paged.map((p) => p.user_id))) if (!(await memberOf(tx, org, id))) left.add(id);
  return paged.filter((p) => !left.has(p.user_id));
}

/** Without a code the newest page is meant. If several incidents are open, the person must name one. */
async function handleText(tx: Tx, org: string, from: string, text: string): Promise<string | undefined> {
  const said = readReply(text);
  if (said.act === 'stop' || said.act === 'start') {
    await setStopped(tx, org, from, said.act === 'stop');
    return undefined; // the provider answers these two words itself
  }
  const code = 'code' in said ? said.code : undefined;
  const waiting = await pagesOfMembers(tx, org, await pagesTo(tx, org, from, code));
  const codes = [...new Map(waiting.map((p) => [p.incident_id, p.code])).values()];
  if (!waiting.length && said.act !== 'unclear' && (await answerTest(tx, org, from, code))) return testAnswered;
  if (!waiting.length) return code ? `There is no open incident with the code ${code}.` : 'There is no open incident for this phone.';
  if (said.act === 'unclear') return `Not understood. Reply ${codes[0]}a to acknowledge or ${codes[0]}r to resolve.`;
  if (!code && codes.length > 1)
    return `${codes.length} incidents are open. Say which: ${codes.map((c) => `${c}${said.act === 'resolve' ? 'r' : 'a'}`).join(', ')}.`;
  return answerSentence(await answerPage(tx, org, waiting[0]!, said.act));
}
