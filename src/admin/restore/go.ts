import { countQueuedRecipients } from '../../areas/email/index.ts';
import { audit, operator } from '../../identity/audit.ts';
import { endHold, findHold } from '../../kernel/backup/restore-hold.ts';
import type { Tx } from '../../kernel/db/index.ts';
import { exitCodes, Stop } from '../../kernel/errors.ts';
import { jobAdmin } from '../../kernel/jobs/index.ts';
import { isAgreed } from '../agree.ts';
import { installation } from '../organization.ts';
import { type OutputOptions, printJson, printTable } from '../output.ts';
import type { Session } from '../session.ts';

export interface Waiting {
  kind: string;
  waiting: number;
}

/** In the operator's words, by the job that does it; a kind that is not here is shown by its own name. */
const words: Record<string, string> = {
  'oncall.page': 'pages to people on call',
  'oncall.step': 'escalation steps',
  'uptime.tell-oncall': 'alerts of monitors',
  'status.send-update': 'updates to subscribers of status pages',
  'status.send-resolution': 'resolutions to subscribers of status pages',
  'status.send-confirmation': 'confirmations to subscribers of status pages',
  'email.deliver-webhook': 'webhook deliveries',
  'organization.mail-invitation': 'invitations to an organization',
  'account.mail-reset': 'links for a new password',
  'account.mail-address': 'links that prove a new address',
  'kernel.send-mail': 'mail of the product (notices, reports)',
};

/** What would leave, by kind. */
export async function waitingToLeave(tx: Tx): Promise<Waiting[]> {
  const [mail, jobs] = await Promise.all([countQueuedRecipients(tx), jobAdmin.countWaiting(tx, ['page', 'mail', 'webhook'])]);
  return [
    ...(mail ? [{ kind: 'recipients of mail', waiting: mail }] : []),
    ...jobs.map(({ kind, waiting }) => ({ kind: words[kind] ?? kind, waiting })),
  ];
}

/** Shows what waits since the restore and, once the operator agrees, lets it go. */
export async function restoreGo({ db }: Session, o: OutputOptions & { yes?: true }) {
  const { hold, waiting } = await db.read(async (tx) => ({ hold: await findHold(tx), waiting: await waitingToLeave(tx) }));
  if (!hold) {
    if (o.json) return printJson({ held: false });
    return console.log('nothing waits: no restore holds anything back here');
  }
  if (!o.json) {
    console.log(`restored at ${hold.restored_at}, as of ${hold.backup_at}. What left between the two leaves once more:`);
    printTable(
      waiting.map((w) => ({ waiting: w.waiting, what: w.kind })),
      'nothing waits',
    );
  }
  if (!(o.yes || (await isAgreed('Let it go?')))) throw new Stop(exitCodes.refused, 'nothing was sent; give --yes to let it go');
  const isEnded = await db.write(async (tx) => {
    if ((await endHold(tx)) === 0) return false;
    await audit(tx, operator(installation), 'installation.restore.go', { id: hold.restored_at }, { waiting });
    return true;
  });
  if (!isEnded) throw new Stop(exitCodes.refused, 'another `quarterdeck admin restore go` has just let everything go');
  if (o.json) return printJson({ held: true, waiting });
  console.log('everything goes from now on');
}
