import { useState } from 'preact/hooks';
import { Button } from '../../ui/button.tsx';
import { Field } from '../../ui/fields.tsx';
import type { PageValues } from './page-values.ts';

const types = ['image/png', 'image/jpeg', 'image/webp', 'image/gif'];
const maxBytes = 49_152;

/** A picture of at most 48 kB, which is 64 KiB as text. */
export function LogoField({ logo, onChange }: { logo: PageValues['logo']; onChange(logo: PageValues['logo']): void }) {
  const [problem, setProblem] = useState<string>();
  const take = async (file: File | undefined) => {
    setProblem(undefined);
    if (!file) return;
    if (!types.includes(file.type)) return setProblem('Choose a PNG, JPEG, WebP or GIF image');
    if (file.size > maxBytes) return setProblem(`${file.name} has ${Math.ceil(file.size / 1000)} kB; a logo has at most 49 kB`);
    onChange(await dataUrlOf(file));
  };
  return (
    <>
      <Field label="Logo" hint="PNG, JPEG, WebP or GIF, at most 49 kB. It stands beside the title" error={problem}>
        {({ id, describedBy, invalid }) => (
          <input
            id={id}
            type="file"
            accept={types.join(',')}
            aria-describedby={describedBy}
            aria-invalid={invalid}
            onChange={(event) => take(event.currentTarget.files?.[0])}
          />
        )}
      </Field>
      {logo && (
        <p>
          {logo === 'stored' ? 'The page has a logo.' : 'A new logo is chosen.'}{' '}
          <Button small onPress={() => onChange('')}>
            Remove the logo
          </Button>
        </p>
      )}
    </>
  );
}

const dataUrlOf = (file: File): Promise<string> =>
  new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener('load', () => resolve(String(reader.result)));
    reader.addEventListener('error', () => reject(new Error(`${file.name} cannot be read; choose it again`)));
    reader.readAsDataURL(file);
  });
