import type { App } from '../../../kernel/app.ts';
import { statusBaseUrl } from '../rules/addresses.ts';

/** Below which address this installation shows status pages. Known once the port is bound. */
export const baseUrlOf = (app: Pick<App, 'config' | 'publicUrl'>): string => statusBaseUrl(app.config.status_url, app.publicUrl());
