import { useEffect, useRef, useState } from 'preact/hooks';
import { query, setQuery } from './place.ts';

const typingPauseMs = 250;

/** A filter that is typed: it counts at once, and gets into the address after a pause, since browsers bound how often an address changes. */
export function useTyped(name: string): [string, (text: string) => void] {
  const inAddress = query.value.get(name) ?? '';
  const [text, setText] = useState(inAddress);
  const written = useRef(inAddress);
  useEffect(() => {
    if (text === inAddress) return;
    const timer = setTimeout(() => {
      written.current = text;
      setQuery(name, text);
    }, typingPauseMs);
    return () => clearTimeout(timer);
  }, [text]);
  // A link or the Back button brought another address: it is what counts.
  useEffect(() => {
    if (written.current === inAddress) return;
    written.current = inAddress;
    setText(inAddress);
  }, [inAddress]);
  return [text, setText];
}
