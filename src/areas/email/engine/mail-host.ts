import type { App } from '../../../kernel/app.ts';

/** The name by which other mail servers know this one. */
export const mailHostOf = ({ config }: Pick<App, 'config'>): string =>
  (config.mail_host || (config.public_url ? new URL(config.public_url).hostname : config.listen.host)).toLowerCase().replace(/\.$/, '');
