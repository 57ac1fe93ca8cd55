import type { App } from '../../../kernel/app.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { enqueue } from '../../../kernel/jobs/index.ts';
import type { Logger } from '../../../kernel/log.ts';
import { sendMail } from '../../../kernel/send-mail.ts';
import { now } from '../../../kernel/time.ts';
import { warningsDue } from '../rules/pauses.ts';
import * as store from '../store/certificates.ts';
import { lateMail } from '../views/late-mail.ts';
import type { AcmeSettings } from './settings.ts';

/** A host without any certificate is told of once, after this time. */
const firstOrderMs = 86_400_000;

/** Writes to the operator about certificates that are late, once for each stage. Without a way for mail, the log has it. */
export async function warnOperator(app: App, { contact }: AcmeSettings, hosts: readonly string[], log: Logger): Promise<void> {
  const late = await app.db.read(async (tx) => {
    const at = Date.parse(await now(tx));
    return (await store.listLate(tx, hosts)).filter((row) => stageOf(row, at) > row.warned);
  });
  for (const row of late) {
    const isMailed = await app.db.write((tx) => warn(tx, app, contact, row));
    log.warn({ event: 'certificates.late', name: row.name, until: row.not_after, mailed: isMailed }, 'a certificate is late');
  }
}

function stageOf({ not_after, renew_at, created_at }: store.CertificateRow, at: number): number {
  if (not_after === null || renew_at === null) return at - Date.parse(created_at) >= firstOrderMs ? 1 : 0;
  const end = Date.parse(not_after);
  return warningsDue(at, end - 3 * (end - Date.parse(renew_at)), end);
}

async function warn(tx: Tx, app: App, contact: string, row: store.CertificateRow): Promise<boolean> {
  const at = await now(tx);
  const warned = stageOf(row, Date.parse(at));
  if (!(await store.countWarning(tx, row, warned)) || !app.mail.leaves()) return false;
  const { name, org_id, issued_at, not_after, last_error } = row;
  const payload = lateMail({ to: contact, name, until: not_after, isOver: not_after !== null && not_after <= at, reason: last_error });
  const org = org_id === null ? {} : { org: org_id };
  return enqueue(tx, sendMail, { key: `certificate ${name} ${issued_at ?? 'none'} ${warned}`, payload, ...org });
}
