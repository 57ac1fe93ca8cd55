import type { Step } from '../../../../../contract/overview.ts';
import type { Tx } from '../../../../kernel/db/index.ts';
import { countAll, fullness, type OverviewPart, type OverviewSource, type Reader } from '../../../ports.ts';
import * as store from '../../store/ports/overview.ts';
import { registriesOf } from '../../store/registries.ts';

export const registryOverview: OverviewSource = {
  async read(tx, reader) {
    const [full, firstSteps] = await Promise.all([readQuotas(tx, reader), readSteps(tx, reader)]);
    return { ...(full ? { full } : {}), firstSteps };
  },
};

async function readQuotas(tx: Tx, { org, reach }: Reader): Promise<OverviewPart['full']> {
  const visible = reach('registry.registry.read');
  if (visible === undefined) return undefined;
  const all = await registriesOf(tx, org, visible);
  return countAll(
    all
      .flatMap((r) => fullness({ kind: 'registry', id: r.slug, name: r.display_name, unit: 'bytes' }, r.used_bytes, r.quota_bytes))
      .sort((a, b) => b.percent - a.percent),
  );
}

const readSteps = async (tx: Tx, { org, reach }: Reader): Promise<Step[]> =>
  reach('registry.image.write') === '*' ? [{ step: 'image', done: await store.hasImage(tx, org) }] : [];
