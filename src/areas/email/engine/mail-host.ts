import type { App } from '../../../kernel/app.ts';

/** The name by which other mail servers know this one. Known once the port is bound. */
export const mailHostOf = (app: Pick<App, 'config' | 'publicUrl'>): string =>
  (app.config.mail_host || new URL(app.publicUrl()).hostname).toLowerCase().replace(/\.$/, '');
