import { browserUrl } from '../../../../identity/rules/browser-url.ts';
import { isMailable } from '../../../../identity/rules/mailable.ts';
import { ownersOf } from '../../../../identity/store/members.ts';
import type { App } from '../../../../kernel/app.ts';
import type { Tx } from '../../../../kernel/db/index.ts';
import { enqueueMany } from '../../../../kernel/jobs/index.ts';
import { sendMail } from '../../../../kernel/send-mail.ts';
import { now } from '../../../../kernel/time.ts';
import { backupMail } from '../../views/backup-mail.ts';

const maxOwners = 20;

/** Mails the owners of a cluster that its backups fail, where mail leaves. The caller tells them once a day. */
export async function tellOwners(
  tx: Tx,
  app: Pick<App, 'mail' | 'publicUrl'>,
  { org, cluster, name, failure }: { org: string; cluster: string; name: string; failure: string },
): Promise<void> {
  if (!app.mail.leaves()) return;
  const [owners, at] = await Promise.all([ownersOf(tx, org, maxOwners), now(tx)]);
  const mail = backupMail({ name, failure, url: browserUrl(app.publicUrl()) });
  await enqueueMany(
    tx,
    sendMail,
    owners
      .filter(({ email }) => isMailable(email))
      .map(({ id, email }) => ({ key: `cluster backup ${cluster} ${at.slice(0, 10)} ${id}`, org, payload: { to: email, ...mail } })),
  );
}
