import { maxTold, type StorySource, type Told, tellSome } from '../../../ports.ts';
import { phasesBetween } from '../../store/ports/story.ts';

const words: Record<string, string> = {
  provisioning: 'is being provisioned',
  ready: 'is ready',
  updating: 'is being changed',
  deleting: 'is being torn down',
};

/** Of a cluster that is gone the audit log alone tells. */
export const clustersStory: StorySource = {
  async read(tx, { org, reach }, _own, { from, openedAt, until }) {
    const visible = reach('clusters.cluster.read');
    const withheld =
      visible === '*' ? [] : [{ what: visible ? 'other clusters' : 'clusters', permission: 'clusters.cluster.read' as const }];
    if (visible === undefined) return { withheld };
    const { told, isCut } = tellSome(
      await phasesBetween(tx, org, visible, { from, until, limit: maxTold + 1 }),
      ({ name, at, phase, what, reason }): Told => {
        const detail = phase === 'updating' ? what : reason;
        return {
          at,
          kind: `cluster_${phase}`,
          title: `cluster ${name} ${words[phase] ?? `is ${phase}`}`,
          ...(detail === null ? {} : { detail: detail.slice(0, 500).toWellFormed() }),
          ref: { kind: 'cluster', id: name, parents: [] },
        };
      },
    );
    return { before: told.filter(({ at }) => at < openedAt), entries: told.filter(({ at }) => at >= openedAt), withheld, isCut };
  },
};
