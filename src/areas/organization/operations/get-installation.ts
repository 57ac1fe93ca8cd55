import { organization } from '../../../../contract/organization.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { readDisk } from '../../../kernel/data/disk-space.ts';
import { databaseVersion, listServerReleases } from '../../../kernel/data/servers.ts';

export const getInstallation = operation(organization.getInstallation, async ({ ctx }) => {
  const { app } = ctx;
  const [database, servers] = await ctx.read((tx) => Promise.all([databaseVersion(tx), listServerReleases(tx)]));
  return ok({
    version: app.version,
    servers: servers.map(({ version, roles }) => ({ ...(version === null ? {} : { version }), roles })),
    database: { kind: app.config.database_url ? ('external' as const) : ('embedded' as const), version: database },
    disk: await readDisk(app.config.data),
    held: app.hold.isHeld,
  });
});
