import { useState } from 'preact/hooks';
import { asCode, type Line } from '../data/as-code.ts';
import { useCommands } from '../data/commands.ts';
import { organization } from '../data/place.ts';
import { Button } from './button.tsx';
import { Code } from './copy.tsx';
import { Dialog } from './dialog.tsx';

export type { Line } from '../data/as-code.ts';

/** A button that shows what a screen or a form does as a command, as curl and as a call of the SDK. */
export function AsCode({ lines }: { lines: readonly Line[] }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button kind="quiet" onPress={() => setOpen(true)} label="Show this as code">
        &lt;/&gt;
      </Button>
      {isOpen && <CodeDialog lines={lines} onClose={() => setOpen(false)} />}
    </>
  );
}

function CodeDialog({ lines, onClose }: { lines: readonly Line[]; onClose(): void }) {
  const table = useCommands();
  return (
    <Dialog title="As code" onClose={onClose} wide>
      {!table && <p class="faint">Loading …</p>}
      {table && lines.map((line) => <OneLine key={JSON.stringify(line)} line={line} />)}
      <p class="faint">
        The command line and curl take a token: <code>quarterdeck login</code> asks for one in this browser.
      </p>
    </Dialog>
  );
}

/** The three ways of one operation; a form shows them while it is typed in. No headings: it stands below headings of any level. */
export function OneLine({ line }: { line: Line }) {
  const table = useCommands();
  const written = table && asCode(table, line, location.origin, organization.value);
  if (!written) return null;
  return (
    <section class="as-code">
      <p class="as-code-what">{table.byOperation.get(line.operation)?.summary}</p>
      <p class="as-code-way">Command line</p>
      <Code text={written.cli} label="Command line" />
      <p class="as-code-way">curl</p>
      <Code text={written.curl} label="curl" />
      <p class="as-code-way">SDK</p>
      <Code text={written.sdk} label="SDK" />
    </section>
  );
}
