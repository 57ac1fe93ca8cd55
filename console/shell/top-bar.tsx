import { isOutdated, liveness } from '../data/live.ts';
import { inOrganization, organization } from '../data/place.ts';
import { Button } from '../ui/button.tsx';
import { Link } from '../ui/link.tsx';
import { Sign } from '../ui/sign.tsx';
import { useMe } from './me.ts';
import { isMenuOpen } from './menu-state.ts';

export function TopBar() {
  return (
    <header class="top">
      <Link to="/" class="brand">
        Quarterdeck
      </Link>
      <OrganizationSwitch />
      <Live />
      <Button
        kind="quiet"
        shortcut="Control+K"
        onPress={() => {
          isMenuOpen.value = true;
        }}
      >
        Search or do <kbd>Ctrl K</kbd>
      </Button>
      <PersonMenu />
    </header>
  );
}

/** One organization is a name; several are a choice. */
function OrganizationSwitch() {
  const { data: me } = useMe();
  const slug = organization.value;
  const list = me?.organizations ?? [];
  const current = list.find((one) => one.slug === slug);
  if (list.length < 2) return <span class="organization">{current?.name ?? slug}</span>;
  return (
    <details class="menu organization">
      <summary>{current?.name ?? slug}</summary>
      <ul>
        {list.map((one) => (
          <li key={one.slug}>
            <a href={inOrganization('/', one.slug)} aria-current={one.slug === slug || undefined}>
              {one.name}
            </a>
          </li>
        ))}
      </ul>
    </details>
  );
}

const words = {
  connecting: ['waiting', 'Connecting'],
  live: ['good', 'Live'],
  polling: ['attention', 'Every 15 s'],
  offline: ['bad', 'Cut off'],
} as const;

const explained = {
  connecting: 'The stream of changes is being opened.',
  live: 'Changes appear as they happen.',
  polling: 'The stream of changes is cut: this page asks every 15 s until it is back.',
  offline: 'This device has no network: what is shown may be old.',
};

function Live() {
  if (isOutdated.value)
    return (
      <Button kind="quiet" small onPress={() => location.reload()}>
        New release: reload
      </Button>
    );
  const [sign, word] = words[liveness.value];
  return (
    <span class={`live ${liveness.value}`} role="status" title={explained[liveness.value]}>
      <Sign of={sign} /> <span class="word">{word}</span>
    </span>
  );
}

function PersonMenu() {
  const { data: me } = useMe();
  return (
    <details class="menu person">
      <summary aria-label={me ? `Your account, ${me.name}` : 'Your account'}>{initials(me?.name ?? me?.email ?? '…')}</summary>
      <ul>
        {me && (
          <li class="faint">
            {me.name}
            <br />
            {me.email}
          </li>
        )}
        <li>
          <a href="/account">Account and sign-in</a>
        </li>
        <li>
          <a href="/docs">Every operation</a>
        </li>
        <li>
          <form method="post" action="/sign-out">
            <button type="submit" class="button plain small">
              Sign out
            </button>
          </form>
        </li>
      </ul>
    </details>
  );
}

const initials = (name: string): string =>
  name
    .split(/[\s@.]+/)
    .slice(0, 2)
    .map((part) => Array.from(part)[0] ?? '')
    .join('')
    .toUpperCase();
