import { useState } from 'preact/hooks';
import type { RegistryLogin } from '../../../sdk/browser.ts';
import { attempt } from '../../data/act.ts';
import { api } from '../../data/api.ts';
import { useWhy } from '../../data/rights.ts';
import { Button } from '../../ui/button.tsx';
import { Code } from '../../ui/copy.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { CheckField } from '../../ui/fields.tsx';
import { Form } from '../../ui/form.tsx';
import { Sheet } from '../../ui/sheet.tsx';
import { Moment } from '../../ui/time.tsx';
import { loginLine } from './commands.ts';

/** A docker login for an hour, as a line to paste. */
export function LoginButton({ slug, kind = 'plain' }: { slug?: string; kind?: 'primary' | 'plain' }) {
  const why = useWhy();
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button kind={kind} why={why('createRegistryLogin')} onPress={() => setOpen(true)}>
        Docker login for an hour
      </Button>
      {isOpen && <Login slug={slug} onClose={() => setOpen(false)} />}
    </>
  );
}

function Login({ slug, onClose }: { slug: string | undefined; onClose(): void }) {
  const why = useWhy();
  const [pullOnly, setPullOnly] = useState(false);
  const [login, setLogin] = useState<RegistryLogin>();
  const create = async () =>
    setLogin(
      await attempt({
        what: 'log docker in',
        kinds: ['registry.key'],
        work: () => api().registry.createRegistryLogin({ ...(slug ? { registry: slug } : {}), ...(pullOnly ? { pullOnly } : {}) }),
      }),
    );
  return (
    <Dialog title={login ? 'Paste this into a terminal' : 'Docker login for an hour'} onClose={onClose} wide={login !== undefined}>
      {login ? (
        <>
          <p class="note attention">The password is shown once. It ends by itself.</p>
          <Code text={loginLine(login)} label="The line that logs docker in" />
          <Sheet
            rows={[
              ['Ends', <Moment key="ends" at={login.expiresAt} />],
              [
                'Reaches',
                login.scope.map(({ registry, mode }) => `${registry} (${mode === 'pull' ? 'pull' : 'pull and push'})`).join(', '),
              ],
            ]}
          />
          <p class="hint">Podman, skopeo and nerdctl take the same line with their own name in front.</p>
        </>
      ) : (
        <Form action="Make the login" why={why('createRegistryLogin')} onSubmit={create} onCancel={onClose}>
          <p>
            A user name and a password for {slug ? `the registry ${slug}` : 'every registry that you reach'}, with your own rights and no
            more.
          </p>
          <CheckField label="Pull only" value={pullOnly} onChange={setPullOnly} />
        </Form>
      )}
    </Dialog>
  );
}
