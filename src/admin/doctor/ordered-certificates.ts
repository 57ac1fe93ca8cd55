import { type CertificateOverview, certificateAdmin } from '../../areas/certificates/index.ts';
import type { Config } from '../../kernel/config.ts';
import type { Db } from '../../kernel/db/index.ts';
import { type Finding, fail, ok, warn } from './finding.ts';

const check = 'certificates';
/** A first order takes minutes; a renewal that failed has a third of the life left. */
const firstOrderMs = 3_600_000;
const maxTold = 5;

export function judgeOrdered({ now, authority, names, unseen }: CertificateOverview): Finding[] {
  if (!authority) return [];
  const found: Finding[] = [];
  if (authority.trouble)
    found.push(warn(check, `${authority.trouble}; ${authority.directory} is asked again at ${authority.pausedUntil ?? 'the next run'}`));
  for (const host of unseen) found.push(warn(check, `none was ordered for ${host} yet; start a server with the role worker`));
  const hosts = names.filter(({ org, isWanted }) => org === null && isWanted);
  for (const { name, state, validUntil, sentence, createdAt } of hosts) {
    const isYoung = Date.parse(now) - Date.parse(createdAt) < firstOrderMs;
    if (state === 'valid')
      found.push(
        sentence
          ? warn(check, `${name} is valid until ${validUntil}, and its renewal fails: ${sentence}`)
          : ok(check, `${name} is valid until ${validUntil}`),
      );
    else if (state === 'ordered' && isYoung)
      found.push(warn(check, `${name} has none yet; it is on order, and a self-signed one is presented`));
    else
      found.push(
        fail(
          check,
          `${name} has no valid certificate${validUntil ? ` since ${validUntil}` : ''}: ${sentence ?? 'see that a server with the role worker runs'}`,
        ),
      );
  }
  return [...found, ...judgePages(names)];
}

function judgePages(names: CertificateOverview['names']): Finding[] {
  const pages = names.filter(({ org }) => org !== null);
  const failed = pages.filter(({ sentence }) => sentence !== undefined);
  const valid = pages.filter(({ state }) => state === 'valid').length;
  if (pages.length === 0) return [];
  const told = failed.slice(0, maxTold).map(({ name, sentence }) => warn(check, `${name}, a domain of a status page: ${sentence}`));
  const rest = failed.length - told.length;
  return [
    ...told,
    ...(rest > 0 ? [warn(check, `${rest} more domains of status pages failed; \`quarterdeck admin certificates list\` shows them`)] : []),
    ok(check, `${valid} of ${pages.length} domains of status pages have one`),
  ];
}

export const checkOrdered = (db: Db, config: Config): Promise<Finding[]> =>
  db.read(async (tx) => judgeOrdered(await certificateAdmin.overviewCertificates(tx, config)));
