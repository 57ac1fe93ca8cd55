import { useState } from 'preact/hooks';
import { Button } from './button.tsx';

const shownForMs = 2_000;

/** `what` tells screen readers which of several things it copies. */
export function CopyButton({ text, label = 'Copy', what }: { text: string; label?: string; what?: string }) {
  const [said, setSaid] = useState('');
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setSaid('Copied');
    } catch {
      setSaid('Select the text and copy it by hand');
    }
    setTimeout(() => setSaid(''), shownForMs);
  };
  return (
    <span class="copy">
      <Button small kind="quiet" onPress={copy}>
        {said || label}
        {what && <span class="hidden"> {what}</span>}
      </Button>
      <span class="hidden" role="status">
        {said}
      </span>
    </span>
  );
}

/** Something to copy, whole: it wraps and is never cut. */
export const Code = ({ text, label }: { text: string; label?: string }) => (
  <div class="code">
    <pre>{text}</pre>
    <CopyButton text={text} {...(label ? { what: label } : {})} />
  </div>
);

/** A short value in a line of text. */
export const Value = ({ text }: { text: string }) => (
  <span class="value">
    <code>{text}</code>
    <CopyButton text={text} />
  </span>
);
