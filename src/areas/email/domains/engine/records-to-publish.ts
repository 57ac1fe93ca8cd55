import type { App } from '../../../../kernel/app.ts';
import { type ExpectedRecord, recordsOf } from '../rules/dns-records.ts';
import { domainsNamed } from '../store/domains.ts';
import { mailHostOf } from './mail-host.ts';

/** The records that the owners of domains here should publish at a name. For the local name server of `serve --try`. */
export async function recordsToPublish(app: App, name: string): Promise<ExpectedRecord[]> {
  const labels = name.split('.');
  const parents = labels.map((_, at) => labels.slice(at).join('.'));
  const domains = await app.db.read((tx) => domainsNamed(tx, parents));
  return domains.flatMap((domain) => recordsOf(domain, mailHostOf(app))).filter((record) => record.name === name);
}
