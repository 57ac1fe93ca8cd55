import type { StorySource, Told } from '../../../ports.ts';
import { clustersChanged } from '../../store/ports/story.ts';

/** Of a cluster only its present phase and its last change are known; earlier changes are in the audit log. */
export const clustersStory: StorySource = {
  async read(tx, { org, reach }, _own, { from, openedAt, until }) {
    const visible = reach('clusters.cluster.read');
    const withheld =
      visible === '*' ? [] : [{ what: visible ? 'other clusters' : 'clusters', permission: 'clusters.cluster.read' as const }];
    if (visible === undefined) return { withheld };
    const told = (await clustersChanged(tx, org, visible, from, until)).flatMap(({ name, phase, phase_at, reason, change }): Told[] => {
      const ref = { kind: 'cluster', id: name, parents: [] };
      return [
        ...(change ? [{ at: change.since, kind: 'cluster_changing', title: `cluster ${name}: ${change.what}`, ref }] : []),
        ...(phase === 'degraded' || phase === 'failed'
          ? [
              {
                at: phase_at,
                kind: `cluster_${phase}`,
                title: `cluster ${name} is ${phase}`,
                ...(reason === null ? {} : { detail: reason.slice(0, 500) }),
                ref,
              },
            ]
          : []),
      ];
    });
    const inTime = told.filter(({ at }) => at >= from && at <= until);
    return { before: inTime.filter(({ at }) => at < openedAt), entries: inTime.filter(({ at }) => at >= openedAt), withheld };
  },
};
