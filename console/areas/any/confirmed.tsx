import { useEffect } from 'preact/hooks';
import { provenChannel } from '../../shell/step-up.tsx';
import { Link } from '../../ui/link.tsx';
import { Page } from '../../ui/page.tsx';

/** Where the proof of a session comes back to, in a tab of its own: it tells the tab that asked, and closes. */
export default function Confirmed() {
  useEffect(() => {
    const channel = new BroadcastChannel(provenChannel);
    channel.postMessage('proven');
    channel.close();
    setTimeout(() => window.close(), 300);
  }, []);
  return (
    <Page title="Confirmed">
      <p>
        The other tab goes on by itself; this one can be closed. <Link to="/">Home</Link>
      </p>
    </Page>
  );
}
