import Type from 'typebox';
import { DateTime, input, named, nextCursor, op } from '../common.ts';

const OncallProblem = named(
  'OncallProblem',
  // The sentence first: the command line shows the first field.
  Type.Object({
    sentence: Type.String({ description: 'What is wrong, and where' }),
    code: Type.String({
      description: 'no-policy, nobody-on-call, not-a-member, no-address, no-relay, no-provider or dead-channel; others may follow',
    }),
  }),
);

const OncallDiagnosis = named(
  'OncallDiagnosis',
  Type.Object({
    serviceId: Type.String(),
    name: Type.String(),
    paged: Type.Boolean({ description: 'Whether somebody would be paged for an incident that opens now' }),
    by: Type.Optional(
      Type.Object(
        {
          label: Type.String(),
          channel: Type.String(),
          afterSeconds: Type.Integer({ minimum: 0 }),
          step: Type.Integer({ minimum: 1, description: 'Of the policy, the first is 1' }),
          userId: Type.String(),
        },
        { description: 'The first page that would arrive; absent when none would' },
      ),
    ),
    problems: Type.Array(OncallProblem, { description: 'What keeps pages away now or in the next seven days; at most 20' }),
  }),
);

const OncallReport = named(
  'OncallReport',
  Type.Object({
    examinedAt: DateTime,
    services: Type.Integer({ minimum: 0 }),
    unpaged: Type.Integer({ minimum: 0, description: 'Services whose alert would have paged no one' }),
    toldAt: Type.Optional(Type.String({ format: 'date-time', description: 'When the owners were last written to' })),
    notTold: Type.Optional(Type.String({ description: 'Why the owners could not be written to; absent when they were, or need not be' })),
  }),
);

export const doctorOps = {
  examineOncall: op({
    method: 'GET',
    path: '/oncall/doctor',
    summary: 'Whether somebody would be paged for each service, and if not, why',
    description:
      'Looks at policies, schedules and overrides of the next seven days, paging settings, the relay, the provider, and what became of the last pages. The same runs once a day by itself and writes to the owners when something is wrong or has changed; `report` says how that went.',
    permission: 'oncall.service.read',
    kinds: ['oncall.service', 'oncall.policy', 'oncall.schedule'],
    scoped: true,
    query: input({
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 50, description: 'At most this many services; 50 by default' })),
      cursor: Type.Optional(Type.String({ maxLength: 500, description: 'From the previous answer; opaque' })),
    }),
    responses: {
      200: Type.Object({
        at: DateTime,
        services: Type.Array(OncallDiagnosis),
        report: Type.Optional(OncallReport),
        cursor: nextCursor,
      }),
    },
    extension: true,
  }),
};
