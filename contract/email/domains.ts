import Type from 'typebox';
import { DateTime, input, named, oneOf, op } from '../common.ts';

const capability = oneOf(['send', 'receive']);

const EmailDnsRecord = named(
  'EmailDnsRecord',
  Type.Object({
    capability,
    type: Type.String({ description: 'TXT, MX or CNAME' }),
    name: Type.String(),
    value: Type.String(),
    priority: Type.Optional(Type.Integer({ description: 'Of an MX record' })),
  }),
);

const EmailDomain = named(
  'EmailDomain',
  Type.Object({
    id: Type.String(),
    name: Type.String(),
    sendState: oneOf(['pending', 'verified', 'failed']),
    receiveState: oneOf(['none', 'pending', 'verified', 'failed']),
    createdAt: DateTime,
    dnsRecords: Type.Array(EmailDnsRecord, { description: 'What to publish in the domain’s DNS' }),
  }),
);

/** The specification leaves this object open beyond its four outcomes: it names the exact defect. */
const EmailDnsObservation = named(
  'EmailDnsObservation',
  Type.Object({
    capability,
    type: Type.String(),
    name: Type.String(),
    expected: Type.String(),
    priority: Type.Optional(Type.Integer()),
    required: Type.Boolean({ description: 'Whether verification waits for it; DMARC is only advised' }),
    outcome: oneOf(['found', 'missing', 'mismatch', 'error']),
    observed: Type.Optional(Type.String({ description: 'What stands there instead, at a mismatch' })),
    observedAll: Type.Optional(Type.Array(Type.String(), { description: 'Every record of that name and type' })),
    reason: Type.Optional(
      Type.String({ description: 'nxdomain, nodata, wrong_value, multiple_records, extra_mx, cname_conflict, servfail or timeout' }),
    ),
    ttl: Type.Optional(Type.Integer({ description: 'Seconds for which others may still see this answer' })),
    resolver: Type.String({ description: 'Which server answered' }),
    checkedAt: DateTime,
  }),
);

export const domainOps = {
  listDomains: op({
    method: 'GET',
    path: '/email/domains',
    summary: 'List domains',
    permission: 'email.domain.read',
    scoped: true,
    entitlement: 'email',
    responses: { 200: Type.Object({ domains: Type.Array(EmailDomain) }) },
  }),
  createDomain: op({
    method: 'POST',
    path: '/email/domains',
    summary: 'Register a sending domain',
    description: 'Answers with the DNS records to publish. Verification starts by itself and goes on for 14 days.',
    permission: 'email.domain.write',
    entitlement: 'email',
    body: input({
      name: Type.String({ minLength: 1, maxLength: 253, 'x-trim': true, description: 'A domain name, such as mail.example.com' }),
    }),
    responses: { 201: EmailDomain },
    errors: { 400: 'not a domain name', 409: 'the domain already has a live claim' },
    codes: { 403: ['quota_reached'] },
  }),
  getDomain: op({
    method: 'GET',
    path: '/email/domains/{id}',
    summary: 'One domain with its DNS records',
    permission: 'email.domain.read',
    scoped: true,
    entitlement: 'email',
    responses: { 200: EmailDomain },
  }),
  deleteDomain: op({
    method: 'DELETE',
    path: '/email/domains/{id}',
    summary: 'Delete a domain',
    description: 'Deletes its routes too; its messages stay in the log.',
    permission: 'email.domain.write',
    fresh: true,
    scoped: true,
    entitlement: 'email',
    responses: { 204: null },
  }),
  getDomainDns: op({
    method: 'GET',
    path: '/email/domains/{id}/dns',
    summary: 'What the DNS says now',
    description: 'One observation for each expected record, looked up as you ask; it does not change the verification state.',
    permission: 'email.domain.read',
    scoped: true,
    entitlement: 'email',
    responses: { 200: Type.Object({ records: Type.Array(EmailDnsObservation) }) },
  }),
  checkDomain: op({
    method: 'POST',
    path: '/email/domains/{id}/check',
    summary: 'Verify a domain soon',
    description: 'Schedules a verification pass; at most one every 10 seconds is made.',
    permission: 'email.domain.write',
    scoped: true,
    entitlement: 'email',
    responses: { 202: Type.Object({ status: Type.String({ description: '`scheduled`' }) }) },
  }),
  armDomainReceiving: op({
    method: 'POST',
    path: '/email/domains/{id}/receive',
    summary: 'Arm a domain for receiving',
    description:
      'Answers with the MX record to publish. Receiving is exclusive: pointing a mailbox domain’s MX here breaks its existing mail, so arm a subdomain of its own. Arming an armed domain changes nothing.',
    permission: 'email.domain.write',
    scoped: true,
    entitlement: 'email',
    responses: { 200: EmailDomain },
  }),
};
