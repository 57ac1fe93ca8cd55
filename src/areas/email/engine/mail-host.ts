import type { App } from '../../../kernel/app.ts';
import { whyNotMailHost } from '../rules/mail-host.ts';

/** The name by which other mail servers know this one. */
export const mailHostOf = ({ config }: Pick<App, 'config'>): string =>
  (config.mail_host || (config.public_url ? new URL(config.public_url).hostname : config.listen.host)).toLowerCase().replace(/\.$/, '');

/** Why no other mail server can look our name up, and what to set; undefined when they can. */
export const findMailHostTrouble = (app: Pick<App, 'config'>): string | undefined => whyNotMailHost(mailHostOf(app));
