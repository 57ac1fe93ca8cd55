import type { Message } from '../../../kernel/mail.ts';

/** To the owners of a cluster whose backups fail. */
export const backupMail = ({ name, failure, url }: { name: string; failure: string; url: string }): Pick<Message, 'subject' | 'text'> => ({
  subject: `The cluster ${name} has no good new backup`,
  text: `A backup of the cluster ${name} failed, or the newest one could not be restored for a check:

  ${failure}

The cluster itself goes on. It is tried again by itself; while it fails, this mail comes once a day. How it stands:

  quarterdeck clusters usage ${name}
  ${url}/api/v1/clusters/${name}/usage
`,
});
