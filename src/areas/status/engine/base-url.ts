import type { App } from '../../../kernel/app.ts';
import { statusBaseUrl } from '../rules/addresses.ts';

/** The base address of status pages. Known once the port is bound. */
export const baseUrlOf = (app: Pick<App, 'config' | 'publicUrl'>): string => statusBaseUrl(app.config.status_url, app.publicUrl());
