import { Component, type ComponentChildren, type ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { isCode, isSignedOut, needsSecondFactor } from '../data/api.ts';
import { keepDraftsOf } from '../data/drafts.ts';
import { followChanges } from '../data/live.ts';
import { go, inOrganization, organization, path } from '../data/place.ts';
import { Button } from '../ui/button.tsx';
import { Empty } from '../ui/empty.tsx';
import { Trouble } from '../ui/trouble.tsx';
import { ActionMenu } from './action-menu.tsx';
import { useKeys } from './keys.ts';
import { KeysHelp } from './keys-help.tsx';
import { useMe } from './me.ts';
import { isMenuOpen } from './menu-state.ts';
import { Navigation } from './navigation.tsx';
import { Notices } from './notices.tsx';
import type { Screen } from './screen.ts';
import { screenAt } from './screens.ts';
import { SecondFactorNeeded, SignedOut } from './signed-out.tsx';
import { StepUp } from './step-up.tsx';
import { TopBar } from './top-bar.tsx';

/** The frame around every screen: who and where one is, the ways on, what was done, and what is asked of the person. */
export function Frame() {
  const slug = organization.value;
  useKeys();
  return (
    <>
      <a class="skip" href="#main">
        Skip to the screen
      </a>
      <Organization key={slug} slug={slug} />
      {isMenuOpen.value && <ActionMenu />}
      <KeysHelp />
      <StepUp />
      {isSignedOut.value && <SignedOut />}
      <Notices />
    </>
  );
}

function Organization({ slug }: { slug: string }) {
  useEffect(() => {
    // Another organization may ask for less.
    needsSecondFactor.value = false;
    followChanges(slug);
    rememberOrganization(slug);
  }, [slug]);
  const { data: me, error } = useMe();
  const personId = me?.id;
  useEffect(() => {
    // A form may show such a draft already.
    if (personId !== undefined && keepDraftsOf(personId)) location.reload();
  }, [personId]);
  return (
    <div class="frame">
      <TopBar />
      <Navigation />
      <main id="main" tabIndex={-1}>
        {isCode(error, 'organization_mismatch') ? <NoMember slug={slug} /> : needsSecondFactor.value ? <SecondFactorNeeded /> : <Outlet />}
      </main>
    </div>
  );
}

type Shown = ComponentType<{ params: Record<string, string> }>;
const loadedScreens = new Map<Screen, Shown>();

function Outlet() {
  const at = path.value;
  const found = screenAt(at);
  const screen = found?.screen;
  const [, shown] = useState(0);
  const [failure, setFailure] = useState<{ screen: Screen; error: unknown }>();
  useEffect(() => {
    if (!screen || loadedScreens.has(screen)) return;
    screen.load().then(
      (module) => {
        loadedScreens.set(screen, module.default as Shown);
        shown((count) => count + 1);
      },
      (error) => {
        reloadOnce();
        setFailure({ screen, error });
      },
    );
  }, [screen]);
  if (!found) return <NoScreen />;
  const Shown = loadedScreens.get(found.screen);
  if (failure && failure.screen === screen && !Shown)
    return (
      <Trouble error="This part of the console could not be loaded. A new release may have replaced it." again={() => location.reload()} />
    );
  if (!Shown)
    return (
      <p class="faint loading" role="status">
        Loading …
      </p>
    );
  return (
    <Boundary key={at}>
      <Shown params={found.params} />
    </Boundary>
  );
}

/** A part that is gone belongs to an older release: the page is loaded anew, once. Drafts are in the tab's storage. */
function reloadOnce(): void {
  const key = 'reloaded for a missing part';
  try {
    const last = Number(sessionStorage.getItem(key) ?? 0);
    if (performance.timeOrigin - last < 60_000) return;
    sessionStorage.setItem(key, String(performance.timeOrigin));
    location.reload();
  } catch {
    // Without storage it might reload for ever: the person does it.
  }
}

const NoScreen = () => (
  <Empty
    title="There is no such screen"
    action={
      <Button kind="primary" onPress={() => go(inOrganization('/'))}>
        Go home
      </Button>
    }
  >
    The address may be of another release. Ctrl K finds everything that is here.
  </Empty>
);

/** A link of a colleague, or a membership that ended. */
const NoMember = ({ slug }: { slug: string }) => (
  <Empty
    title={`You are no member of ${slug}`}
    action={
      <a class="button primary" href="/o">
        Go to an organization of yours
      </a>
    }
  >
    Its owners and admins invite people by a link.
  </Empty>
);

/** A mistake of one screen leaves the frame standing. */
class Boundary extends Component<{ children: ComponentChildren }, { error?: unknown }> {
  override state: { error?: unknown } = {};
  static override getDerivedStateFromError = (error: unknown) => ({ error });
  override render() {
    if (this.state.error === undefined) return this.props.children;
    return (
      <Trouble
        error={`This screen failed: ${String(this.state.error)}. Everything else goes on.`}
        again={() => this.setState({ error: undefined })}
      />
    );
  }
}

/** The server leads from `/o` to the organization of last time. It is a name, no secret. */
const rememberOrganization = (slug: string): void => {
  // biome-ignore lint/suspicious/noDocumentCookie: the newer interface is missing in two browsers, and this is one name
  document.cookie = `qd-organization=${encodeURIComponent(slug)}; Path=/o; SameSite=Lax; Max-Age=31536000`;
};
