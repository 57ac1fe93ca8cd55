import { run, type Tx } from '../../../../kernel/db/index.ts';

/** Whether an image was ever pushed to a repository of these registries; what a cache fetched is none. */
export const hasImage = async (tx: Tx, org: string): Promise<boolean> =>
  (await run(tx)`
    select 1 from registry.registry g join registry.repository r on r.registry_id = g.id
     where g.org_id = ${org} and r.upstream_host is null and exists (select from registry.manifest m where m.repository_id = r.id) limit 1`) >
  0;
