import { Button } from './button.tsx';

interface DownloadProps {
  /** What the person finds among their files. */
  name: string;
  text: string;
  label?: string;
}

/** Hands a text over as a file. It never leaves the page: nothing keeps it once it is saved. */
export const Download = ({ name, text, label = 'Download' }: DownloadProps) => <Button onPress={() => save(name, text)}>{label}</Button>;

function save(name: string, text: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], { type: 'text/plain;charset=utf-8' }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}
