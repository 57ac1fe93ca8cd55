import Type from 'typebox';
import { DateTime, Id, input, Name, named, oneOf, op } from '../common.ts';

const target = {
  kind: oneOf(['schedule', 'user']),
  id: Id('Of a schedule, or of a member'),
  label: Type.String({ maxLength: 100, description: 'How the target is shown; empty: its own name' }),
};
const waitSeconds = Type.Integer({ minimum: 0, maximum: 86_400, description: 'How long to wait for an acknowledgement before going on' });

const OncallEscalationStep = named(
  'OncallEscalationStep',
  Type.Object({ target: Type.Object({ kind: target.kind, id: Type.String(), label: Type.String() }), waitSeconds: Type.Integer() }),
);
const OncallEscalationStepInput = named('OncallEscalationStepInput', input({ target: input(target), waitSeconds }));

const OncallEscalationPolicy = named(
  'OncallEscalationPolicy',
  Type.Object({
    id: Type.String(),
    name: Type.String(),
    repeat: Type.Integer(),
    steps: Type.Array(OncallEscalationStep),
    remindAfterSeconds: Type.Optional(
      Type.Integer({
        minimum: 0,
        description: 'Seconds after which the person who acknowledged is reminded of an unresolved incident; 0: never; always present',
      }),
    ),
    services: Type.Integer({ minimum: 0, description: 'How many services have it attached' }),
    createdAt: DateTime,
  }),
);

const repeat = Type.Integer({ minimum: 0, maximum: 9, description: 'Further passes through the steps after the first' });
const steps = Type.Array(OncallEscalationStepInput, {
  minItems: 1,
  maxItems: 20,
  description: 'In order, until somebody acknowledges; a step that reaches no one goes on at once',
});
const remindAfterSeconds = Type.Optional(
  Type.Integer({
    minimum: 0,
    maximum: 604_800,
    description:
      'Seconds after which the person who acknowledged is paged again, repeatedly, while the incident is not resolved; at least 300, or 0: never, which is the default',
  }),
);
const errors = {
  400: 'a user who is no member, waits of 0 in every step of a repeated policy, or an invalid field',
  404: 'unknown policy or schedule, or not of this organization; the sentence names which',
};

export const policyOps = {
  listEscalationPolicies: op({
    method: 'GET',
    path: '/oncall/escalation-policies',
    summary: 'List escalation policies',
    permission: 'oncall.policy.read',
    responses: { 200: Type.Object({ policies: Type.Array(OncallEscalationPolicy) }) },
  }),
  createEscalationPolicy: op({
    method: 'POST',
    path: '/oncall/escalation-policies',
    summary: 'Create an escalation policy',
    permission: 'oncall.policy.write',
    body: input({ name: Name, repeat, steps, remindAfterSeconds }),
    responses: { 201: OncallEscalationPolicy },
    errors: { ...errors, 409: 'the organization has 1,000 escalation policies, or the Idempotency-Key was used before in another way' },
  }),
  updateEscalationPolicy: op({
    method: 'PATCH',
    path: '/oncall/escalation-policies/{id}',
    summary: 'Change an escalation policy',
    description: 'Steps are replaced whole. Incidents under way keep the copy of the policy they opened with.',
    permission: 'oncall.policy.write',
    body: input({ name: Type.Optional(Name), repeat: Type.Optional(repeat), steps: Type.Optional(steps), remindAfterSeconds }),
    responses: { 200: OncallEscalationPolicy },
    errors,
  }),
  deleteEscalationPolicy: op({
    method: 'DELETE',
    path: '/oncall/escalation-policies/{id}',
    summary: 'Delete an escalation policy',
    permission: 'oncall.policy.write',
    responses: { 204: null },
    errors: { 409: 'a service still references the policy: detach it first; the sentence names the service' },
  }),
};
