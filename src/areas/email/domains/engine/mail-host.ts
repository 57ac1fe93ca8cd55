import type { App } from '../../../../kernel/app.ts';
import { whyNotMailHost } from '../rules/mail-host.ts';

/** This server's public mail host name. */
export const mailHostOf = ({ config }: Pick<App, 'config'>): string =>
  (config.mail_host || (config.public_url ? new URL(config.public_url).hostname : config.listen.host)).toLowerCase().replace(/\.$/, '');

/** Why remote mail servers cannot resolve our name, and what to set; undefined when they can. */
export const findMailHostTrouble = (app: Pick<App, 'config'>): string | undefined => whyNotMailHost(mailHostOf(app));
