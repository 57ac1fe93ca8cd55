import type { Config } from '../../../../kernel/config.ts';
import { exitCodes, Stop } from '../../../../kernel/errors.ts';

/** The host that serves only status pages, as in the Host header; undefined if not set. */
export function ownHost({ status_url, public_url }: Pick<Config, 'status_url' | 'public_url'>): string | undefined {
  if (!status_url) return undefined;
  const { host, pathname } = new URL(status_url);
  const wrong = (why: string) => new Stop(exitCodes.configuration, `the setting QUARTERDECK_STATUS_URL is wrong: ${why}`);
  if (pathname !== '/') throw wrong('pages answer at the root of their host; leave the path out');
  if (public_url && new URL(public_url).host === host)
    throw wrong(
      'it names the host of QUARTERDECK_PUBLIC_URL, where nothing else would answer any more; give pages a host of their own, or leave it out',
    );
  return host;
}
