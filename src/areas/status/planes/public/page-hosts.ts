import type { App } from '../../../../kernel/app.ts';
import { guarded } from '../../../../kernel/faults/guarded.ts';
import { hostsChannel, listHosts } from '../../store/domains.ts';

/** Which hosts are pages of their own, in the memory of this process: every request asks. */
export interface PageHosts {
  /** The slug of the page that this Host header names. */
  slugOf(host: string | undefined): string | undefined;
  stop(): void;
}

/** Changes are told by NOTIFY; what that misses is seen within this time. While the database is away the last ones hold. */
const refreshMs = 30_000;

export async function openPageHosts(app: App): Promise<PageHosts> {
  let slugs = new Map<string, string>();
  let reading: Promise<void> = Promise.resolve();
  const read = async () => {
    const hosts = await app.db.read(listHosts);
    slugs = new Map(hosts.map(({ name, slug }) => [name, slug]));
  };
  // One after the other, so that an older answer never replaces a newer one.
  const refresh = () => {
    reading = reading.then(read).catch(() => {});
  };
  await read();
  app.listener.on(hostsChannel, guarded('status.hosts', undefined, refresh));
  app.listener.onReconnect(refresh);
  const timer = setInterval(refresh, refreshMs).unref();
  return {
    slugOf: (host) => (slugs.size === 0 || host === undefined ? undefined : slugs.get(nameOf(host))),
    stop: () => clearInterval(timer),
  };
}

/** Without a port, and without the dot of an absolute name. */
function nameOf(host: string): string {
  const colon = host.indexOf(':');
  const name = (colon < 0 ? host : host.slice(0, colon)).toLowerCase();
  return name.endsWith('.') ? name.slice(0, -1) : name;
}
