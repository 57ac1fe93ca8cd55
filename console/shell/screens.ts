import { screens as anything } from '../areas/any/screens.ts';
import { screens as clusters } from '../areas/clusters/screens.ts';
import { screens as email } from '../areas/email/screens.ts';
import { screens as home } from '../areas/home/screens.ts';
import { screens as oncall } from '../areas/oncall/screens.ts';
import { screens as organization } from '../areas/organization/screens.ts';
import { screens as registry } from '../areas/registry/screens.ts';
import { screens as status } from '../areas/status/screens.ts';
import { screens as uptime } from '../areas/uptime/screens.ts';
import { match } from '../data/place.ts';
import type { Screen } from './screen.ts';

/** Every screen, in the order of the navigation. */
export const screens: readonly Screen[] = [home, oncall, uptime, status, registry, email, clusters, organization, anything].flat();

/** A fixed path wins over one with parts. */
const bySpecificity = screens.toSorted((a, b) => a.path.split(':').length - b.path.split(':').length);

export function screenAt(path: string): { screen: Screen; params: Record<string, string> } | undefined {
  for (const screen of bySpecificity) {
    const params = match(screen.path, path);
    if (params) return { screen, params };
  }
  return undefined;
}
