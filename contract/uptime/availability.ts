import Type from 'typebox';
import { named, oneOf, op } from '../common.ts';

const figures = {
  watchedSeconds: Type.Integer({ minimum: 0, description: 'How long at least one monitor watched it, maintenance left out' }),
  downSeconds: Type.Integer({ minimum: 0, description: 'How long of that at least one monitor was down, from its first failing check on' }),
  uptimePct: Type.Number({ minimum: 0, maximum: 100, description: 'What is left, 0 to 100' }),
};

const UptimeAvailability = named(
  'UptimeAvailability',
  Type.Object({
    serviceId: Type.String(),
    state: Type.Optional(
      oneOf(['pending', 'up', 'down'], { description: 'Of its monitors together: down when one is; absent when it has none' }),
    ),
    countedFrom: Type.Optional(
      Type.String({
        format: 'date-time',
        description: 'Present when its monitors changed so often that only the newest changes are counted: nothing before this is',
      }),
    ),
    days: Type.Array(Type.Object({ date: Type.String({ description: 'YYYY-MM-DD, in UTC' }), ...figures }), {
      description: 'The last 90, oldest first; one in which nothing was watched is absent',
    }),
    months: Type.Array(Type.Object({ month: Type.String({ description: 'YYYY-MM, in UTC' }), ...figures }), {
      description: 'As far back as 400 days, oldest first; one in which nothing was watched is absent',
    }),
  }),
);

export const availabilityOps = {
  getServiceAvailability: op({
    method: 'GET',
    path: '/uptime/services/{id}/availability',
    summary: 'How a service fared, by day and by month',
    permission: 'uptime.service.read',
    scoped: true,
    entitlement: 'uptime',
    responses: { 200: UptimeAvailability },
    extension: true,
  }),
};
