import { createHash } from 'node:crypto';
import { ownersOf } from '../../../../identity/store/members.ts';
import { findOrg } from '../../../../identity/store/organizations.ts';
import type { App } from '../../../../kernel/app.ts';
import type { Db } from '../../../../kernel/db/index.ts';
import { enqueueMany, type Job, job } from '../../../../kernel/jobs/index.ts';
import { NotDelivered } from '../../../../kernel/mail.ts';
import { paginate } from '../../../../kernel/pagination.ts';
import { now } from '../../../../kernel/time.ts';
import { listServices } from '../../../services/index.ts';
import { whenToReport } from '../../rules/doctor.ts';
import { asLine } from '../../rules/page-mail.ts';
import { findReport, listOncallOrgs, type ReportCounts, saveReport } from '../../store/doctor.ts';
import { examineServices, type ServiceDiagnosis } from './examine.ts';

const servicesPerBatch = 50;
/** The daily mail covers this many services and says so. `GET /oncall/doctor` covers all. */
const maxServices = 5_000;
/** Services listed in a mail, and owners who get it. */
const maxServicesInMail = 50;
const maxOwners = 20;

interface Examination extends ReportCounts {
  /** Services with any problem, whether a page would go out or not. */
  withProblems: number;
  listed: ServiceDiagnosis[];
  isTruncated: boolean;
}

/** Examines all services of an organization in batches, each in its own transaction. */
async function examineOrganization(db: Db, app: App, org: string, signal: AbortSignal): Promise<Examination> {
  const found = { services: 0, unpaged: 0, withProblems: 0, listed: [] as ServiceDiagnosis[] };
  const hash = createHash('sha256');
  let after: string | null = null;
  do {
    signal.throwIfAborted();
    const slice: { limit: number; after: string | null } = { limit: servicesPerBatch, after };
    const examined = await db.read(async (tx) => {
      const { items, cursor } = paginate(await listServices(tx, org, '*', slice), slice, (s) => s.id);
      after = cursor ? items.at(-1)!.id : null;
      return (await examineServices(tx, app, org, items)).examined;
    });
    for (const one of examined) {
      found.services++;
      if (!one.by) found.unpaged++;
      if (!one.problems.length) continue;
      found.withProblems++;
      // Hashes problem codes, not sentences: a gap that is one day nearer is not news.
      hash.update(JSON.stringify([one.service.id, Boolean(one.by), [...new Set(one.problems.map((p) => p.code))].sort()]));
      if (found.listed.length < maxServicesInMail) found.listed.push(one);
    }
  } while (after && found.services < maxServices);
  return { ...found, digest: hash.digest('hex').slice(0, 32), isTruncated: after !== null };
}

/**
 * Examines an organization and mails its owners if there is something to report. Safe to run twice: a mail sent twice on a day has one
 * Message-ID. A failed mail is recorded for `GET /oncall/doctor` and retried an hour later.
 */
export const doctorJob: Job<unknown, unknown> = job(
  'oncall.doctor',
  { maxAttempts: 5 },
  async ({ app, db, org: given, signal, finishWith }) => {
    const org = given!;
    const found = await examineOrganization(db, app, org, signal);
    const { report, at } = await db.read(async (tx) => ({ report: await findReport(tx, org), at: await now(tx) }));
    const when = whenToReport(report, found, at);
    if (when !== 'now') {
      await finishWith((tx) => saveReport(tx, org, found, { is: when === 'never' ? 'calm' : 'early' }));
      return;
    }
    const why = await mailOwners(db, app, org, found, at);
    await finishWith((tx) => saveReport(tx, org, found, why === undefined ? { is: 'told' } : { is: 'not-told', why }));
  },
);

/** Undefined: at least one owner got the mail. Otherwise the reason why none did. */
async function mailOwners(db: Db, app: App, org: string, found: Examination, at: string): Promise<string | undefined> {
  const { owners, name } = await db.read(async (tx) => ({
    owners: await ownersOf(tx, org, maxOwners),
    name: (await findOrg(tx, org)).name,
  }));
  const text = mailText(found, app.publicUrl());
  const subject = asLine(
    found.unpaged
      ? `[${name}] nobody would be paged for ${found.unpaged} of ${found.services} services`
      : `[${name}] ${found.withProblems ? 'on-call needs a look' : 'on-call is well again'}`,
    200,
  );
  let delivered = 0;
  let why = 'the organization has no owner';
  for (const owner of owners) {
    try {
      await app.mail.deliver({
        org,
        id: `doctor-${org}-${at.slice(0, 10)}-${owner.id}`,
        to: owner.email,
        subject,
        text,
        headers: { 'Auto-Submitted': 'auto-generated' },
      });
      delivered++;
    } catch (error) {
      if (!(error instanceof NotDelivered)) throw error;
      why = error.message;
    }
  }
  return delivered ? undefined : why;
}

function mailText({ services, unpaged, withProblems, listed, isTruncated }: Examination, publicUrl: string): string {
  const lines = listed.flatMap(({ service, by, problems }) => [
    '',
    `${asLine(service.name, 100)}: ${by ? `${asLine(by.label, 100)} would be paged by ${by.channel}` : 'NOBODY would be paged'}`,
    ...problems.map((p) => `  - ${asLine(p.sentence, 300)}`),
  ]);
  return [
    withProblems
      ? `If an incident opened now, nobody would be paged for ${unpaged} of ${services} services; ${withProblems} need a look.`
      : `Somebody would be paged for each of ${services} services again.`,
    ...lines,
    ...(withProblems > listed.length ? ['', `${withProblems - listed.length} more services need a look.`] : []),
    ...(isTruncated ? ['', `Only the newest ${services} services were looked at.`] : []),
    '',
    `The same at any time: quarterdeck oncall doctor, or GET ${publicUrl}/api/v1/oncall/doctor`,
  ].join('\n');
}

const orgsPerBatch = 100;

/** Enqueues a job for each organization that uses on-call and is due for its daily examination. */
export async function enqueueDueExaminations(db: Db, signal: AbortSignal): Promise<void> {
  let after = '';
  for (let found = orgsPerBatch; found === orgsPerBatch && !signal.aborted; ) {
    const users = await db.write(async (tx) => {
      const slice = await listOncallOrgs(tx, after, orgsPerBatch);
      await enqueueMany(
        tx,
        doctorJob,
        slice.filter((u) => u.due).map((u) => ({ key: u.org_id, org: u.org_id })),
      );
      return slice;
    });
    found = users.length;
    after = users.at(-1)?.org_id ?? after;
  }
}
