import { quarterdeck } from '../../sdk/index.ts';
import { commandName } from '../command-name.ts';
import { exitCodes, Failure } from '../exit.ts';
import { ensure, readTry, type Trial, waitFor } from './support.ts';

const name = 'try';
const phone = '+15005550100';

/** Makes a service, a schedule with you, a policy and an alert source; raises an alert, and waits until the page is out. */
export async function tryPage(trial: Trial, shouldAcknowledge: boolean): Promise<void> {
  const { api, url, say } = trial;
  const service = await ensureRotation(trial);
  await ensurePhone(trial);
  const incident = await raiseAlert(trial, service.id);
  say(`✓ incident ${incident.id}: ${incident.title}`);
  const pages = await waitFor(trial, 'the page', async () => {
    const seen = await api.oncall.getIncident(incident.id);
    const sent = seen.pages.filter(({ state }) => ['sent', 'delivered', 'confirmed'].includes(state));
    const failed = seen.pages.find(({ state }) => state === 'failed');
    if (failed && !sent.length)
      throw new Failure(exitCodes.refused, `the page by ${failed.channel} failed: ${failed.error ?? 'no reason is known'}`);
    return sent.length ? sent : undefined;
  });
  for (const { channel, label, state } of pages) say(`✓ ${label} was paged by ${channel}: ${state}`);
  await showPhone(trial);
  if (!shouldAcknowledge) {
    say(`Acknowledge: ${commandName} try page --ack`);
    return say(`or by its id: ${commandName} oncall incidents acknowledge ${incident.id}`);
  }
  const { status } = await api.oncall.getIncident(incident.id);
  if (status === 'open') await api.oncall.acknowledgeIncident(incident.id);
  say(`✓ incident ${incident.id} is acknowledged; the server ${new URL(url).host} pages no further`);
}

/** Who is paged for the service: you, always. */
async function ensureRotation(trial: Trial) {
  const { api } = trial;
  const service = await ensure(trial, `the service ${name}`, {
    find: async () => await findOnPages(api.oncall.listOncallServices.pages(), ({ services }) => services.find((s) => s.name === name)),
    make: () => api.oncall.createOncallService({ name }),
  });
  const me = await api.organization.getMe();
  const schedule = await ensure(trial, `the schedule ${name} with you in it`, {
    find: async () => (await api.oncall.listSchedules()).schedules.find((s) => s.name === name),
    make: () =>
      api.oncall.createSchedule({
        name,
        timezone: 'UTC',
        participants: [{ userId: me.id, label: '' }],
        handoff: { interval: 'weekly', dow: 1, time: '09:00' },
      }),
  });
  const policy = await ensure(trial, `the escalation policy ${name}`, {
    find: async () => (await api.oncall.listEscalationPolicies()).policies.find((p) => p.name === name),
    make: () =>
      api.oncall.createEscalationPolicy({
        name,
        repeat: 0,
        steps: [{ target: { kind: 'schedule', id: schedule.id, label: '' }, waitSeconds: 300 }],
      }),
  });
  if (service.escalationPolicyId !== policy.id) await api.oncall.setServicePolicy(service.id, { escalationPolicyId: policy.id });
  return service;
}

/** On a server with --try the phone there is yours, unless you have set another. Elsewhere your settings stay as they are. */
async function ensurePhone({ api, isTry, say }: Trial): Promise<void> {
  const settings = await api.oncall.getPagingSettings();
  if (!isTry || settings.phone) return;
  await api.oncall.savePagingSettings({
    phone,
    rules: [
      { channel: 'email', delaySeconds: 0 },
      { channel: 'sms', delaySeconds: 0 },
    ],
  });
  say(`✓ your pages go to ${settings.email} and by SMS to ${phone}, the phone of --try`);
}

/**
 * By the way of Alertmanager. An incident that is still open is shown again; one that is acknowledged is resolved first, since a further
 * alert would join it without a page. The token of a source is shown once, so each alert has a source of its own, and the last one goes.
 */
async function raiseAlert({ api, url, say }: Trial, serviceId: string) {
  const find = (status: 'open' | 'acknowledged') =>
    findOnPages(api.oncall.listIncidents.pages({ status }), ({ incidents }) => incidents.find((i) => i.serviceId === serviceId));
  const open = await find('open');
  if (open) return open;
  const before = await find('acknowledged');
  if (before) {
    await api.oncall.resolveIncident(before.id);
    say(`✓ ${before.id} of the last run is resolved`);
  }
  for (const source of (await api.oncall.listAlertSources()).sources)
    if (source.name === name && source.serviceId === serviceId) await api.oncall.revokeAlertSource(source.id);
  const source = await api.oncall.createAlertSource({ name, serviceId });
  const sender = quarterdeck({ url, token: source.token });
  await sender.oncall.receiveAlerts(source.id, {
    alerts: [
      {
        status: 'firing',
        labels: { alertname: 'TryPage', run: source.id },
        annotations: { summary: 'quarterdeck try page: this is only a test' },
      },
    ],
  });
  return (await find('open')) ?? fail('the alert was taken, but opened no incident');
}

async function showPhone(trial: Trial): Promise<void> {
  const { url, say } = trial;
  const rung = await readTry<{ items: { text: string }[] }>(trial, 'phone.json');
  if (!rung) return;
  if (rung.items[0]) say(`\nOn the phone: ${rung.items[0].text}`);
  say(`Answer it: ${url}/try/phone\nThe mail with the link that acknowledges: ${url}/try/inbox`);
}

async function findOnPages<Page, T>(pages: AsyncGenerator<Page>, find: (page: Page) => T | undefined): Promise<T | undefined> {
  for await (const page of pages) {
    const known = find(page);
    if (known !== undefined) return known;
  }
  return undefined;
}

const fail = (sentence: string): never => {
  throw new Failure(exitCodes.refused, sentence);
};
