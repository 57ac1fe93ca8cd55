import { useState } from 'preact/hooks';
import type { Api } from '../../../sdk/browser.ts';
import { attempt } from '../../data/act.ts';
import { api } from '../../data/api.ts';
import { useWhy } from '../../data/rights.ts';
import { Code } from '../../ui/copy.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Form } from '../../ui/form.tsx';

type JoinToken = Awaited<ReturnType<Api['clusters']['createJoinToken']>>;

/** Mints the token of one node and shows the command that joins it, whole. It is gone when the dialog closes. */
export function JoinDialog({ cluster, onClose }: { cluster: string; onClose(): void }) {
  const why = useWhy();
  const [made, setMade] = useState<JoinToken>();
  const mint = async () =>
    setMade(await attempt({ what: `mint a join token of ${cluster}`, kinds: [], work: () => api().clusters.createJoinToken(cluster) }));
  return (
    <Dialog title={`Join a node to ${cluster}`} onClose={onClose} wide>
      {made ? (
        <>
          <p class="note attention">
            It works once, for {Math.round(made.expiresIn / 60)} minutes, and is shown only here. Run it on the node as root.
          </p>
          <Code text={made.joinCommand} label="Join command" />
          <p class="hint">The node appears in the list of nodes as soon as it has joined.</p>
        </>
      ) : (
        <Form action="Mint a join token" why={why('createJoinToken')} onSubmit={mint} onCancel={onClose}>
          <p>
            A join token lets one node in, within 15 minutes. For many nodes, or for machines that are made later, mint a registration token
            instead.
          </p>
        </Form>
      )}
    </Dialog>
  );
}
