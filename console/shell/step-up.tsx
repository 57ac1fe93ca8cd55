import { useEffect } from 'preact/hooks';
import { asking } from '../data/act.ts';
import { inOrganization } from '../data/place.ts';
import { Button } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';

// What is dangerous asks a session to prove itself again. The proof is a form of the server, in another tab, so that nothing that was typed
// here is lost. It leads back to `/confirmed`, a screen that tells this tab and closes itself.

export const provenChannel = 'quarterdeck proven';

export const StepUp = () => (asking.value ? <Asking {...asking.value} /> : null);

function Asking({ what, settle }: { what: string; settle(isProven: boolean): void }) {
  useEffect(() => {
    const channel = new BroadcastChannel(provenChannel);
    channel.addEventListener('message', ({ data }) => {
      if (data === 'proven') settle(true);
    });
    return () => channel.close();
  }, [settle]);
  const next = encodeURIComponent(inOrganization('/confirmed'));
  return (
    <Dialog title="Confirm that it is you" onClose={() => settle(false)}>
      <p>To {what}, show once more that it is you. A new tab asks for your passkey or password and comes back here.</p>
      <p class="buttons">
        <a class="button primary" href={`/sign-in/again?next=${next}`} target="_blank" rel="noopener opener">
          Confirm in a new tab
        </a>
        <Button onPress={() => settle(true)}>I have confirmed: go on</Button>
        <Button onPress={() => settle(false)}>Cancel</Button>
      </p>
    </Dialog>
  );
}
