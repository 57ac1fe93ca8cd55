import type { App } from '../../kernel/app.ts';
import { makeOperatorGuard } from '../../kernel/guard/index.ts';
import type { Host, Opened } from '../area.ts';
import { type Acme, makeAcme, makeTransport } from './clients/acme/index.ts';
import { certificatesDue } from './engine/keep-certificates.ts';
import { openPresenter } from './engine/presenter.ts';
import { type AcmeSettings, acmeSettings } from './engine/settings.ts';
import { measure } from './metrics.ts';

export interface OpenCertificates {
  /** Undefined: no certificates are ordered here. */
  acme: { settings: AcmeSettings; makeAcme: (signal: AbortSignal) => Acme } | undefined;
}

export async function openCertificates({ app }: Host): Promise<Opened<OpenCertificates>> {
  const settings = acmeSettings(app.config);
  if (!settings) return { own: { acme: undefined } };
  const presenter = await openPresenter(app);
  app.presented.prefer(presenter);
  // Before its ports are open, no authority could reach this process.
  app.presented.onListening(() => app.waker.wake(certificatesDue));
  return {
    own: { acme: { settings, makeAcme: acmeFor(app, settings) } },
    metrics: (registry) => measure(registry, app),
    stop: async () => presenter.stop(),
  };
}

function acmeFor(app: App, { directory }: AcmeSettings): (signal: AbortSignal) => Acme {
  const guard = makeOperatorGuard(app.config.dns_servers);
  return (signal) => makeAcme(makeTransport(guard, signal), directory);
}
