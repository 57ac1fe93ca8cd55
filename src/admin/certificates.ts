import { certificateAdmin } from '../areas/certificates/index.ts';
import { listOrgs } from '../areas/organization/index.ts';
import { audit, operator } from '../identity/audit.ts';
import { exitCodes, Stop } from '../kernel/errors.ts';
import { installation } from './organization.ts';
import { type OutputOptions, printRows } from './output.ts';
import type { Session } from './session.ts';

export async function listCertificates({ db, config }: Session, o: OutputOptions) {
  const { overview, slugs } = await db.read(async (tx) => ({
    overview: await certificateAdmin.overviewCertificates(tx, config),
    slugs: new Map((await listOrgs(tx)).map(({ id, slug }) => [id, slug])),
  }));
  const { authority, names, unseen } = overview;
  if (authority?.trouble)
    console.error(`${authority.directory}: ${authority.trouble}; asked again at ${authority.pausedUntil ?? 'the next run'}`);
  const shown = names.map((each) => ({
    name: each.name,
    for: each.org === null ? 'this server' : `a page of ${slugs.get(each.org) ?? each.org}`,
    state: each.isWanted ? each.state : 'not wanted',
    'valid until': each.validUntil,
    'renewed from': each.renewsAt,
    'went wrong': each.sentence,
  }));
  const waiting = unseen.map((name) => ({
    name,
    for: 'this server',
    state: 'not seen',
    'valid until': null,
    'renewed from': null,
    'went wrong': 'no server has run with this setting yet',
  }));
  printRows(
    o,
    [...shown, ...waiting],
    authority ? 'there is none yet; a running server orders them' : 'none is ordered here; set QUARTERDECK_ACME to your address',
  );
}

export async function orderCertificate({ db, config }: Session, name: string) {
  if (!config.acme) throw new Stop(exitCodes.refused, 'certificates are not ordered here; set QUARTERDECK_ACME to your address');
  const host = name.toLowerCase();
  await db.write(async (tx) => {
    if (!(await certificateAdmin.orderCertificate(tx, host)))
      throw new Stop(exitCodes.refused, `there is no name ${host} to certify; \`quarterdeck admin certificates list\` shows them`);
    await audit(tx, operator(installation), 'certificates.order', { id: host });
  });
  console.log(`a server orders the certificate of ${host} within a minute, within the limits; see \`quarterdeck admin certificates list\``);
}
