import { path } from '../data/place.ts';
import { guardOf, useRights, whyNot } from '../data/rights.ts';
import { Button } from '../ui/button.tsx';
import { Link } from '../ui/link.tsx';
import { isMenuOpen } from './menu-state.ts';
import { type AreaName, areas, type Screen } from './screen.ts';
import { screenAt, screens } from './screens.ts';

/** On a phone the first of these are at the thumb; the rest is behind “More”. */
const atTheThumb = ['/', '/oncall/incidents', '/oncall/schedules', '/uptime/monitors'];

/** The screens that the person may see, by area. What the server's guards would refuse is left out; the action menu says why. */
export function Navigation() {
  const { data: rights } = useRights();
  const shown = screens.filter((screen) => screen.listed && (!screen.main || !whyNot(rights, guardOf(screen.main))));
  const groups = [...new Set(shown.map(({ area }) => area))];
  const current = currentOf(shown);
  return (
    <>
      <nav class="side" aria-label="Screens">
        {groups.map((area) => (
          <Group key={area} area={area} screens={shown.filter((screen) => screen.area === area)} current={current} />
        ))}
      </nav>
      <nav class="thumb" aria-label="Daily screens">
        {shown
          .filter(({ path: to }) => atTheThumb.includes(to))
          .map(({ path: to, title }) => (
            <Link key={to} to={to} isCurrent={to === current}>
              {title}
            </Link>
          ))}
        <Button
          kind="quiet"
          onPress={() => {
            isMenuOpen.value = true;
          }}
        >
          More
        </Button>
      </nav>
    </>
  );
}

function Group({ area, screens: list, current }: { area: AreaName; screens: readonly Screen[]; current: string | undefined }) {
  return (
    <section>
      {list.length > 1 && <h2>{areas[area]}</h2>}
      <ul>
        {list.map(({ path: to, title }) => (
          <li key={to}>
            <Link to={to} isCurrent={to === current}>
              {title}
            </Link>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** The listed screen that the current one belongs to: itself, or the one that its path begins with. */
function currentOf(shown: readonly Screen[]): string | undefined {
  const at = path.value;
  const found = screenAt(at)?.screen;
  if (!found) return undefined;
  return shown
    .filter(({ path: to }) => to === at || (to !== '/' && at.startsWith(`${to}/`)))
    .toSorted((a, b) => b.path.length - a.path.length)[0]?.path;
}
