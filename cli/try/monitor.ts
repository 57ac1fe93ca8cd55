import { commandName } from '../command-name.ts';
import { ensure, type Trial, waitFor } from './support.ts';

const name = 'try';

/** Watches the server's own health page, and waits until a check says that it is up. */
export async function tryMonitor(trial: Trial): Promise<void> {
  const { api, url, say } = trial;
  const target = `${url}/healthz`;
  const { id } = await ensure(trial, `the monitor ${name} of ${target}`, {
    find: async () => {
      for await (const { monitors } of api.uptime.listMonitors.pages()) {
        const known = monitors.find((m) => m.name === name && m.http?.url === target);
        if (known) return known;
      }
      return undefined;
    },
    make: () => api.uptime.createMonitor({ name, kind: 'http', intervalSeconds: 30, vantages: ['local'], http: { url: target } }),
  });
  const monitor = await waitFor(trial, 'the first check', async () => {
    const seen = await api.uptime.getMonitor(id);
    return seen.state && seen.state !== 'pending' ? seen : undefined;
  });
  say(`✓ ${target} is ${monitor.state}`);
  say(`\nIts checks: ${commandName} uptime monitors metrics get ${id} --window 1h`);
}
