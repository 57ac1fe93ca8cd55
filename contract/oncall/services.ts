import Type from 'typebox';
import { DateTime, DateTimeInput, Id, input, Name, named, nextCursor, nullable, op, page } from '../common.ts';

export const OncallService = named(
  'OncallService',
  Type.Object({
    id: Type.String(),
    name: Type.String(),
    createdAt: DateTime,
    escalationPolicyId: Type.Optional(Type.String({ description: 'Absent: detached, new incidents of the service page no one' })),
  }),
);

const OncallPreview = named(
  'OncallPreview',
  Type.Object({
    at: DateTime,
    escalationPolicyId: Type.Optional(Type.String({ description: 'Absent: no policy is attached, so no one would be paged' })),
    steps: Type.Array(
      Type.Object({
        at: DateTime,
        pass: Type.Integer({ minimum: 0 }),
        step: Type.Integer({ minimum: 0 }),
        target: Type.Object({ kind: Type.String(), id: Type.String(), label: Type.String() }),
        responder: Type.Optional(Type.Object({ userId: Type.String(), label: Type.String() })),
        pages: Type.Array(
          Type.Object({
            at: DateTime,
            channel: Type.String(),
            problem: Type.Optional(Type.String({ description: 'Why this page would fail' })),
          }),
        ),
        problem: Type.Optional(Type.String({ description: 'Why the step would reach no one' })),
      }),
    ),
  }),
);

const policyId = nullable(Id('Of an escalation policy'), 'The id of an escalation policy; null detaches');

export const serviceOps = {
  listOncallServices: op({
    method: 'GET',
    path: '/oncall/services',
    summary: 'List services and their escalation policies',
    description: 'The catalog is shared with uptime: both areas show the same services.',
    permission: 'oncall.service.read',
    scoped: true,
    query: input(page),
    responses: { 200: Type.Object({ services: Type.Array(OncallService), cursor: nextCursor }) },
    extension: true,
  }),
  createOncallService: op({
    method: 'POST',
    path: '/oncall/services',
    summary: 'Create a service',
    description: 'Makes the same row as creating it under /uptime/services, without needing the Uptime entitlement.',
    permission: 'oncall.service.write',
    body: input({ name: Name }),
    responses: { 201: OncallService },
    errors: { 409: 'a service with this name exists' },
    extension: true,
  }),
  setServicePolicy: op({
    method: 'PUT',
    path: '/oncall/services/{id}',
    summary: 'Attach or detach an escalation policy',
    description: 'Takes effect for incidents opened from now on: those under way keep the copy of the policy they opened with.',
    permission: 'oncall.service.write',
    scoped: true,
    body: input({ escalationPolicyId: policyId }),
    responses: { 200: OncallService },
    errors: { 404: 'unknown service or escalation policy, or not of this organization; the sentence names which' },
  }),
  updateOncallService: op({
    method: 'PATCH',
    path: '/oncall/services/{id}',
    summary: 'Attach or detach an escalation policy (as PATCH)',
    description: 'The same as PUT, except that an absent field changes nothing.',
    permission: 'oncall.service.write',
    scoped: true,
    body: input({ escalationPolicyId: Type.Optional(policyId) }),
    responses: { 200: OncallService },
    errors: { 404: 'unknown service or escalation policy, or not of this organization; the sentence names which' },
    extension: true,
  }),
  previewServiceEscalation: op({
    method: 'GET',
    path: '/oncall/services/{id}/preview',
    summary: 'Who would be paged when',
    description:
      'Walks the attached policy for an incident opened at that time and never acknowledged, with what is known now of schedules, overrides and paging settings.',
    permission: 'oncall.service.read',
    kinds: ['oncall.service', 'oncall.policy', 'oncall.schedule'],
    scoped: true,
    query: input({ at: Type.Optional(DateTimeInput) }),
    responses: { 200: OncallPreview },
    extension: true,
  }),
};
