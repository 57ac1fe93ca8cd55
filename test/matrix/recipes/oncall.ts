import { run } from '../../../src/kernel/db/index.ts';
import { byId, type Kitchen, type Maker, made201, type Recipes, type Thing, unique } from '../recipe.ts';
import { newService, service } from './services.ts';

/** What belongs to a service is reached by whoever reaches that. */
const ofService =
  (path: string, body: (serviceId: string) => unknown): Maker =>
  async (kitchen) => {
    const its = await service(kitchen);
    const { id } = await made201(kitchen.at.post(path, body(its.params.id!)));
    return { params: { id }, narrowTo: its.params.id! };
  };

const incident = ofService('/oncall/incidents', (serviceId) => ({ serviceId, title: unique('incident') }));
const source = ofService('/oncall/alert-sources', (serviceId) => ({ serviceId, name: unique('source') }));

const update: Maker = async (kitchen) => {
  const its = await incident(kitchen);
  const { id } = await made201(kitchen.at.post(`/oncall/incidents/${its.params.id}/updates`, { body: 'we are looking' }));
  return { ...its, params: { ...its.params, uid: id } };
};

const policyBody = ({ at }: Kitchen) => ({
  name: unique('policy'),
  repeat: 0,
  steps: [{ target: { kind: 'user', id: at.userId, label: '' }, waitSeconds: 300 }],
});
const policy: Maker = async (kitchen) => byId((await made201(kitchen.at.post('/oncall/escalation-policies', policyBody(kitchen)))).id);
const attached = async (kitchen: Kitchen) => ({ escalationPolicyId: (await policy(kitchen)).params.id });
const foreignPolicy = async (kitchen: Kitchen) => ({
  escalationPolicyId: (await policy({ ...kitchen, at: kitchen.foreigner })).params.id,
});
const foreignService = (more: Record<string, unknown>) => async (kitchen: Kitchen) => ({
  ...more,
  serviceId: (await service({ ...kitchen, at: kitchen.foreigner })).params.id,
});
const onService = (more: () => Record<string, unknown>) => async (kitchen: Kitchen) => ({
  ...more(),
  serviceId: (await service(kitchen)).params.id,
});

/** A source with the only key that opens it. */
const keys = new Map<string, string>();
const openSource: Maker = async (kitchen) => {
  const its = await service(kitchen);
  const { id, token } = await made201(kitchen.at.post('/oncall/alert-sources', { serviceId: its.params.id, name: unique('source') }));
  keys.set(id, token);
  return byId(id);
};
const keyOf = async (_kitchen: Kitchen, thing: Thing | undefined) => keys.get(thing!.params.id!)!;
const firing = () => ({ labels: { alertname: unique('alert') }, startsAt: '2026-11-01T10:00:00Z' });

const daily = { interval: 'daily', time: '09:00' };
const scheduleBody = ({ at }: Kitchen) => ({
  name: unique('schedule'),
  timezone: 'Europe/Paris',
  participants: [{ userId: at.userId, label: '' }],
  handoff: daily,
});
const schedule: Maker = async (kitchen) => byId((await made201(kitchen.at.post('/oncall/schedules', scheduleBody(kitchen)))).id);
const overrideBody = (userId: string) => ({ userId, label: '', startsAt: '2026-11-01T10:00:00Z', endsAt: '2030-11-01T10:00:00Z' });
const override: Maker = async (kitchen) => {
  const its = await schedule(kitchen);
  const { id } = await made201(kitchen.at.post(`/oncall/schedules/${its.params.id}/overrides`, overrideBody(kitchen.at.userId)));
  return { params: { ...its.params, oid: id } };
};

const calendarLink: Maker = async (kitchen) => {
  const its = await schedule(kitchen);
  const { id } = await made201(kitchen.at.post(`/oncall/schedules/${its.params.id}/calendar-links`, { name: unique('link') }));
  return { params: { ...its.params, linkId: id } };
};

export const oncall: Recipes = {
  listSchedules: { lists: schedule },
  createSchedule: {
    body: scheduleBody,
    cases: {
      "other's user": {
        body: (kitchen) => ({ ...scheduleBody(kitchen), participants: [{ userId: kitchen.foreigner.userId, label: '' }] }),
      },
    },
  },
  updateSchedule: { make: schedule, body: () => ({ name: unique('renamed') }) },
  deleteSchedule: { make: schedule },
  addScheduleOverride: {
    make: schedule,
    body: ({ at }) => overrideBody(at.userId),
    cases: { "other's user": { body: ({ foreigner }) => overrideBody(foreigner.userId) } },
  },
  removeScheduleOverride: { make: override },
  listScheduleShifts: { make: schedule },
  listShifts: { lists: schedule },
  getScheduleCalendar: { make: schedule },
  listCalendarLinks: { make: schedule },
  createCalendarLink: { make: schedule, body: () => ({ name: unique('link') }) },
  revokeCalendarLink: { make: calendarLink },
  getPagingSettings: {},
  savePagingSettings: { body: () => ({ rules: [{ channel: 'email', delaySeconds: 0 }] }) },
  testPaging: {
    // A person may test once a minute, and is asked for in many rows.
    body: async ({ qd, caller }) => {
      await qd.app.db.write((tx) => run(tx)`delete from oncall.test_page where user_id = ${caller.userId}`);
      return { channels: ['email'] };
    },
  },
  getPagingTest: {},
  getProvider: {},
  setProvider: {
    body: ({ fakes: { twilio } }) => ({ accountSid: twilio.accountSid, authToken: twilio.authToken, fromNumber: twilio.fromNumber }),
    cases: {
      'a wrong token': {
        body: ({ fakes: { twilio } }) => ({ accountSid: twilio.accountSid, authToken: 'wrong', fromNumber: twilio.fromNumber }),
      },
    },
  },
  clearProvider: {},
  listIncidents: { lists: incident },
  openIncident: {
    body: onService(() => ({ title: unique('incident') })),
    cases: { "other's service": { body: foreignService({ title: 'x' }) } },
  },
  getIncident: { make: incident },
  getIncidentStory: { make: incident },
  acknowledgeIncident: { make: incident },
  acknowledgeIncidentAlias: { make: incident },
  resolveIncident: { make: incident },
  publishIncidentUpdate: { make: incident, body: () => ({ body: 'we are looking' }) },
  retractIncidentUpdate: { make: update },
  listEscalationPolicies: { lists: policy },
  createEscalationPolicy: {
    body: policyBody,
    cases: {
      "other's user": {
        body: ({ foreigner }) => ({
          name: 'x',
          repeat: 0,
          steps: [{ target: { kind: 'user', id: foreigner.userId, label: '' }, waitSeconds: 300 }],
        }),
      },
    },
  },
  updateEscalationPolicy: { make: policy, body: () => ({ name: unique('renamed') }) },
  deleteEscalationPolicy: { make: policy },
  setServicePolicy: { make: service, body: attached, cases: { "other's policy": { body: foreignPolicy } } },
  updateOncallService: { make: service, body: attached, cases: { "other's policy": { body: foreignPolicy } } },
  previewServiceEscalation: { make: service },
  examineOncall: { lists: service },
  listAlertSources: { lists: source },
  createAlertSource: {
    body: onService(() => ({ name: unique('source') })),
    cases: { "other's service": { body: foreignService({ name: 'x' }) } },
  },
  revokeAlertSource: { make: source },
  receiveAlerts: { make: openSource, key: keyOf, body: () => ({ alerts: [{ ...firing(), status: 'firing' }] }) },
  receivePrometheusAlerts: { make: openSource, key: keyOf, body: () => [firing()] },
  listOncallServices: { lists: service },
  createOncallService: { body: newService },
};
