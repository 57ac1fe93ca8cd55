import { useEffect, useState } from 'preact/hooks';
import { query, setQuery } from './place.ts';

const typingPauseMs = 250;

/** A filter that is typed: it counts at once, and gets into the address after a pause, since browsers bound how often an address changes. */
export function useTyped(name: string): [string, (text: string) => void] {
  const inAddress = query.value.get(name) ?? '';
  const [text, setText] = useState(inAddress);
  useEffect(() => {
    if (text === inAddress) return;
    const timer = setTimeout(() => setQuery(name, text), typingPauseMs);
    return () => clearTimeout(timer);
  }, [text]);
  return [text, setText];
}
