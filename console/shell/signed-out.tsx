import { useEffect } from 'preact/hooks';
import { isSignedOut, needsSecondFactor } from '../data/api.ts';
import { queries, refresh } from '../data/query.ts';
import { Button } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';

const signInPath = () => `/sign-in?next=${encodeURIComponent(location.pathname + location.search)}`;

/** Whom this page was shown to, as far as it knows. */
const knownPerson = (slug: string): unknown => queries.getQueryData<{ id: string }>([slug, 'me'])?.id;

/** The session is over. The screen and what was typed on it stay for the same person; a sign-in in another tab is noticed. */
export function SignedOut() {
  useEffect(() => {
    const look = async () => {
      if (document.hidden) return;
      const slug = /^\/o\/([^/]+)/.exec(location.pathname)?.[1] ?? '';
      const response = await fetch('/api/v1/me', {
        credentials: 'same-origin',
        headers: { 'x-organization': slug, 'x-background': '1' },
      }).catch(() => undefined);
      if (!response?.ok) return;
      const { id } = (await response.json().catch(() => ({}))) as { id?: unknown };
      const before = knownPerson(slug);
      if (before !== undefined && id !== before) {
        // What one person read and typed is not for the next one; the frame drops the drafts.
        location.reload();
        return;
      }
      isSignedOut.value = false;
      void refresh();
    };
    addEventListener('focus', look);
    document.addEventListener('visibilitychange', look);
    return () => {
      removeEventListener('focus', look);
      document.removeEventListener('visibilitychange', look);
    };
  }, []);
  return (
    <Dialog title="You are signed out" onClose={() => undefined}>
      <p>The session is over. Everything on this screen stays as it is while you sign in again.</p>
      <p class="buttons">
        <a class="button primary" href={signInPath()} target="_blank" rel="noopener">
          Sign in in a new tab
        </a>
        <a class="button plain" href={signInPath()}>
          Sign in here
        </a>
      </p>
    </Dialog>
  );
}

export function SecondFactorNeeded() {
  useEffect(() => {
    addEventListener('focus', lookAgain);
    return () => removeEventListener('focus', lookAgain);
  }, []);
  return (
    <div class="empty">
      <h1>This organization asks for a second factor</h1>
      <p>
        Add a passkey or an authenticator app to your account; this page goes on by itself when you return.{' '}
        <a href="/account/passkeys">Add a passkey</a> · <a href="/account/second-factor">Add an app</a>
      </p>
      <p>
        <Button onPress={lookAgain}>Look again</Button>
      </p>
    </div>
  );
}

/** The screen asks anew; while it is refused for the same reason, this page comes back. */
function lookAgain(): void {
  needsSecondFactor.value = false;
  void refresh();
}
